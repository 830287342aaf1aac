/* SPDX-License-Identifier: Apache-2.0
 * Built for a preview, from before the ABI was frozen. */
#include <berth/plugin.h>
#undef BERTH_ABI_MAJOR
#define BERTH_ABI_MAJOR 0u
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 6u
#define ZOO_ENTRY berth_library_entry_v0
#include "zoo_plugin.h"
