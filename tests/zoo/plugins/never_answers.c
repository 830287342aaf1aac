/* SPDX-License-Identifier: Apache-2.0
 * Says that it will answer a pre-bind call, and does not. */
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.bind/1\0"
#define ZOO_OWN_FILTER
#define ZOO_OWN_FILTER_OPS
#define ZOO_OTHER_OPS \
  static berth_code zoo_pre_bind(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) { \
    (void)self, (void)cycle, (void)call, (void)note; \
    return BERTH_ASYNC; \
  } \
  static const berth_bind_ops_v1 zoo_bind_ops = {sizeof(berth_bind_ops_v1), 0, 0, zoo_pre_bind, 0, 0};
#define ZOO_POINTS                    \
  {                                   \
    { "berth.bind/1", &zoo_bind_ops } \
  }
#include "zoo_plugin.h"
