/* SPDX-License-Identifier: Apache-2.0
 * Claims a descriptor of 256 MiB. */
#define ZOO_LIBRARY_SIZE (1u << 28)
#include "zoo_plugin.h"
