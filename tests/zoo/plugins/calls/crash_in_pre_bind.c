/* SPDX-License-Identifier: Apache-2.0
 * Writes to a place that is not there before a pod is bound. */
#include <berth/plugin.h>

static berth_code pre_bind(berth_bind_call_v1* call) {
  (void)call;
  *(volatile int*)(uintptr_t)64 = 1;
  return BERTH_OK;
}
#define ZOO_BINDER
#include "zoo_plugin.h"
