/* SPDX-License-Identifier: Apache-2.0
 * Forgets to say how large its descriptor is. */
#define ZOO_LIBRARY_SIZE 0
#include "zoo_plugin.h"
