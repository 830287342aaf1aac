/* SPDX-License-Identifier: Apache-2.0
 * Does not look whether the host knows the column that it asks for. */
#define ZOO_OWN_CREATE
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
static uint32_t pods;
static berth_code zoo_create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                             berth_note_v1* note) {
  const berth_str none = {0, 0};
  (void)host, (void)args, (void)note;
  pods = binder->column(binder->ctx, BERTH_COL_PODS, none);
  *self = (void*)0;
  return BERTH_OK;
}
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)note;
  for (uint32_t row = 0; row < block->rows; ++row) {
    if (((const int64_t*)block->columns[pods])[row] < 100) continue;
    out->pass[row / 64] &= ~((uint64_t)1 << (row % 64));
  }
  return BERTH_OK;
}
#include "zoo_plugin.h"
