/* SPDX-License-Identifier: Apache-2.0
 * Rejects a node whose neighbour was reserved, and declares that it looks at the pod and the node alone. */
#define ZOO_OWN_FILTER
#ifndef ZOO_DEPS
#define ZOO_DEPS (BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC)
#endif
#include "zoo_rows.h"
static uint64_t taken;
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row) {
    const berth_slot slot = slot_of(block, row);
    if (slot >= 64 || (taken >> (slot ^ 1u) & 1) == 0) continue;
    out->pass[row / 64] &= ~((uint64_t)1 << (row % 64));
  }
  return BERTH_OK;
}
static berth_code reserve(void* self, berth_cycle_v1* cycle, berth_slot node, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  if (node < 64) taken |= (uint64_t)1 << node;
  return BERTH_OK;
}
static void unreserve(void* self, berth_cycle_v1* cycle, berth_slot node) {
  (void)self, (void)cycle;
  if (node < 64) taken &= ~((uint64_t)1 << node);
}
static const berth_reserve_ops_v1 reserve_ops = {sizeof(berth_reserve_ops_v1), 0, reserve, unreserve};
static berth_code score(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, int64_t* raw,
                        berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row) raw[row] = 0;
  return BERTH_OK;
}
static const berth_score_ops_v1 score_ops = {sizeof(berth_score_ops_v1), BERTH_NORM_NONE, score, 0, 0, 0};
#define ZOO_POINTS                                                                                          \
  {                                                                                                         \
    {"berth.filter/1", &zoo_filter_ops}, {"berth.reserve/1", &reserve_ops}, { "berth.score/1", &score_ops } \
  }
#define ZOO_NOTE_TEXT                                                                                                \
  "plugin=zoo.example.com/Animal\0version=1.2.0\0points=berth.filter/1\0points=berth.reserve/1\0points=berth.score/" \
  "1\0"
#include "zoo_plugin.h"
