/* SPDX-License-Identifier: Apache-2.0
 * Built for other units. */
#include <berth/plugin.h>
#undef BERTH_DATA_MODEL
#define BERTH_DATA_MODEL 42u
#include "zoo_plugin.h"
