/* SPDX-License-Identifier: Apache-2.0
 * Has a filter and neither a table of reasons nor the service that makes them. */
#define ZOO_REASON_COUNT 0u
#include "zoo_plugin.h"
