/* SPDX-License-Identifier: Apache-2.0
 * Rejects all nodes in every third call. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
static unsigned calls;
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  if (++calls % 3 != 0) return BERTH_OK;
  for (uint32_t word = 0; word < (block->rows + 63) / 64; ++word) out->pass[word] = 0;
  return BERTH_OK;
}
#include "zoo_plugin.h"
