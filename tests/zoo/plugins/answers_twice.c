/* SPDX-License-Identifier: Apache-2.0
 * Answers a pre-bind call twice at once, and a third time when the pod has been bound. */
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.bind/1\0"
#define ZOO_OWN_FILTER
#define ZOO_OWN_FILTER_OPS
#define ZOO_OTHER_OPS \
  static berth_bind_call_v1* last; \
  static berth_code zoo_pre_bind(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) { \
    (void)self, (void)cycle, (void)call, (void)note; \
    const berth_str text = {"", 0}; \
    call->complete(call->ctx, BERTH_OK, text); \
    call->complete(call->ctx, BERTH_ERROR, text); \
    last = call; \
    return BERTH_ASYNC; \
  } \
  static void zoo_post_bind(void* self, berth_cycle_v1* cycle, const berth_bind_call_v1* call) { \
    const berth_str text = {"", 0}; \
    (void)self, (void)cycle, (void)call; \
    last->complete(last->ctx, BERTH_ERROR, text); \
  } \
  static const berth_bind_ops_v1 zoo_bind_ops = {sizeof(berth_bind_ops_v1), 0, 0, zoo_pre_bind, 0, zoo_post_bind};
#define ZOO_POINTS                    \
  {                                   \
    { "berth.bind/1", &zoo_bind_ops } \
  }
#include "zoo_plugin.h"
