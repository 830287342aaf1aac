/* SPDX-License-Identifier: Apache-2.0
 * Rejects a node after five pods were reserved on it, and takes no reservation back. */
#define ZOO_OWN_FILTER
#include "zoo_rows.h"
static uint32_t reserved[4096];
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row) {
    if (reserved[slot_of(block, row) % 4096] < 5) continue;
    out->pass[row / 64] &= ~((uint64_t)1 << (row % 64));
  }
  return BERTH_OK;
}
static berth_code reserve(void* self, berth_cycle_v1* cycle, berth_slot node, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  ++reserved[node % 4096];
  return BERTH_OK;
}
static void unreserve(void* self, berth_cycle_v1* cycle, berth_slot node) { (void)self, (void)cycle, (void)node; }
static const berth_reserve_ops_v1 reserve_ops = {sizeof(berth_reserve_ops_v1), 0, reserve, unreserve};
#define ZOO_POINTS                                                           \
  {                                                                          \
    {"berth.filter/1", &zoo_filter_ops}, { "berth.reserve/1", &reserve_ops } \
  }
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0points=berth.reserve/1\0"
#include "zoo_plugin.h"
