/* SPDX-License-Identifier: Apache-2.0
 * Built for another major version of the ABI. */
#include <berth/plugin.h>
#undef BERTH_ABI_MAJOR
#define BERTH_ABI_MAJOR 7u
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 3u
#define ZOO_ENTRY berth_library_entry_v7
#include "zoo_plugin.h"
