/* SPDX-License-Identifier: Apache-2.0
 * "berth.node_order/1": the snapshot's nodes in list order, for policies whose answer depends on which node comes
 * first. Slots say nothing about that: a node that goes leaves its slot to another. */
#ifndef BERTH_EXT_NODE_ORDER_H
#define BERTH_EXT_NODE_ORDER_H

#include "cycle.h"

typedef struct berth_node_order_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Slots in list order: the zones in turn, each with its nodes as they came; cycle->node_count entries, each node of
   * the snapshot once. Valid for the cycle.                                                                     [cycle] */
  const berth_slot* (*slots)(void* ctx, const berth_cycle_v1* cycle);
} berth_node_order_v1;

#endif
