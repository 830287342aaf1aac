/* SPDX-License-Identifier: Apache-2.0
 * Says that it will answer a pre-bind call, and does not. */
#include <berth/plugin.h>

static berth_code pre_bind(berth_bind_call_v1* call) {
  (void)call;
  return BERTH_ASYNC;
}
#define ZOO_BINDER
#include "zoo_plugin.h"
