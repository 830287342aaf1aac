/* SPDX-License-Identifier: Apache-2.0
 * Rejects pods until it is asked whether a new node may help one, and does not come back from that question. */
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0points=berth.requeue/1\0"
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
#include <unistd.h>
static int zoo_asked;
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  if (__atomic_load_n(&zoo_asked, __ATOMIC_ACQUIRE)) return BERTH_OK;
  for (uint32_t word = 0; word < (block->rows + 63) / 64; ++word) out->pass[word] = 0;
  return BERTH_OK;
}
static berth_code zoo_hint(void* self, const berth_event_v1* event, const berth_pod_v1* const* pods, uint32_t count,
                           uint64_t* queue, berth_note_v1* note) {
  (void)self, (void)event, (void)pods, (void)count, (void)queue, (void)note;
  __atomic_store_n(&zoo_asked, 1, __ATOMIC_RELEASE);
  while (pause() != 0) {
  }
  return BERTH_OK;
}
#define ZOO_OTHER_OPS                                                                           \
  static const berth_interest_v1 zoo_interests[] = {{BERTH_KIND_NODE, BERTH_ACTION_ADD, 0, 1}}; \
  static const berth_requeue_ops_v1 zoo_requeue_ops = {sizeof(berth_requeue_ops_v1), 1, zoo_interests, zoo_hint};
#define ZOO_POINTS                                                               \
  {                                                                              \
    {"berth.filter/1", &zoo_filter_ops}, { "berth.requeue/1", &zoo_requeue_ops } \
  }
#include "zoo_plugin.h"
