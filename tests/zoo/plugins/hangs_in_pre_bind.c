/* SPDX-License-Identifier: Apache-2.0
 * Does not come back from the first six pods that are about to be bound. */
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.bind/1\0"
#define ZOO_OWN_FILTER
#define ZOO_OWN_FILTER_OPS
#include <berth/plugin.h>
#include <unistd.h>
static int zoo_calls;
static berth_code zoo_pre_bind(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) {
  (void)self, (void)cycle, (void)call, (void)note;
  if (__atomic_fetch_add(&zoo_calls, 1, __ATOMIC_RELAXED) >= 6) return BERTH_OK;
  while (pause() != 0) {
  }
  return BERTH_OK;
}
#define ZOO_OTHER_OPS \
  static const berth_bind_ops_v1 zoo_bind_ops = {sizeof(berth_bind_ops_v1), 0, 0, zoo_pre_bind, 0, 0};
#define ZOO_POINTS                    \
  {                                   \
    { "berth.bind/1", &zoo_bind_ops } \
  }
#include "zoo_plugin.h"
