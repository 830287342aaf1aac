/* SPDX-License-Identifier: Apache-2.0
 * Built for an older preview. */
#include <berth/plugin.h>
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 0u
#include "zoo_plugin.h"
