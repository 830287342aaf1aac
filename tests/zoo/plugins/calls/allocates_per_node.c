/* SPDX-License-Identifier: Apache-2.0
 * Takes a piece of memory for each node that it judges, and gives it back. */
#include <stdlib.h>
#define ZOO_OWN_FILTER
#include "zoo_rows.h"
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)out, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row) free(malloc(32));
  return BERTH_OK;
}
#include "zoo_plugin.h"
