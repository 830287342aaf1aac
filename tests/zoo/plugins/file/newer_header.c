/* SPDX-License-Identifier: Apache-2.0
 * Built with an SDK that does not exist yet, and needs nothing that is new in it. */
#define BERTH_MINOR_REQUIRED 0u
#include <berth/plugin.h>
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 99u
#include "zoo_plugin.h"
