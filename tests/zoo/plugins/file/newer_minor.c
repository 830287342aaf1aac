/* SPDX-License-Identifier: Apache-2.0
 * Built for a minor that does not exist yet. */
#include <berth/plugin.h>
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 99u
#include "zoo_plugin.h"
