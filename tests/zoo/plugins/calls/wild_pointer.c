/* SPDX-License-Identifier: Apache-2.0
 * A descriptor that points into nowhere. */
#define ZOO_PLUGIN_LIST \
  { (const berth_plugin_v1*)(uintptr_t)4096 }
#include "zoo_plugin.h"
