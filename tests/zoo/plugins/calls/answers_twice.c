/* SPDX-License-Identifier: Apache-2.0
 * Answers a pre-bind call twice at once, and a third time when the pod has been bound. */
#include <berth/plugin.h>

static berth_bind_call_v1* last;

static void answer(berth_bind_call_v1* call, berth_code code) {
  const berth_str text = {"", 0};
  call->complete(call->ctx, code, text);
}
static berth_code pre_bind(berth_bind_call_v1* call) {
  answer(call, BERTH_OK);
  answer(call, BERTH_ERROR);
  last = call;
  return BERTH_ASYNC;
}
static void post_bind(void) { answer(last, BERTH_ERROR); }
#define ZOO_HAS_POST_BIND
#define ZOO_BINDER
#include "zoo_plugin.h"
