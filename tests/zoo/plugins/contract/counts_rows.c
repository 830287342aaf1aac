/* SPDX-License-Identifier: Apache-2.0
 * Rejects the eighth row of each block, whatever node that is. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  if (block->rows > 7) out->pass[0] &= ~((uint64_t)1 << 7);
  return BERTH_OK;
}
#include "zoo_plugin.h"
