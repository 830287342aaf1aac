/* SPDX-License-Identifier: Apache-2.0
 * Says that it requires more than the SDK has that it was built with. */
#define BERTH_MINOR_REQUIRED 3u
#include <berth/plugin.h>
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 2u
#include "zoo_plugin.h"
