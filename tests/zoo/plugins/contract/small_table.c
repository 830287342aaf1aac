/* SPDX-License-Identifier: Apache-2.0
 * Keeps a table of 5,000 nodes, and gives up where there are more. */
#define ZOO_OWN_FILTER
#include "zoo_rows.h"
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)out, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row)
    if (slot_of(block, row) >= 5000) return BERTH_ERROR;
  return BERTH_OK;
}
#include "zoo_plugin.h"
