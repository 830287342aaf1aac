/* SPDX-License-Identifier: Apache-2.0
 * Rejects what comes late in the list of nodes. */
#define ZOO_OWN_FILTER
#include "zoo_rows.h"
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row) {
    if (slot_of(block, row) < 900) continue;
    out->pass[row / 64] &= ~((uint64_t)1 << (row % 64));
  }
  return BERTH_OK;
}
#include "zoo_plugin.h"
