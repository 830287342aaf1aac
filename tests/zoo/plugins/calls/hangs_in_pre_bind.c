/* SPDX-License-Identifier: Apache-2.0
 * Does not come back from the first six pods that are about to be bound. */
#include <berth/plugin.h>
#include <unistd.h>

static int calls;

static berth_code pre_bind(berth_bind_call_v1* call) {
  (void)call;
  if (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) >= 6) return BERTH_OK;
  while (pause() != 0) {
  }
  return BERTH_OK;
}
#define ZOO_BINDER
#include "zoo_plugin.h"
