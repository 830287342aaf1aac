/* SPDX-License-Identifier: Apache-2.0
 * The rows of a block, for animals that look at them. */
#ifndef ZOO_ROWS_H
#define ZOO_ROWS_H
#include <berth/plugin.h>

static inline berth_slot slot_of(const berth_node_block_v1* block, uint32_t row) {
  return block->slots != 0 ? block->slots[row] : block->first_slot + row;
}
#endif
