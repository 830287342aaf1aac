/* SPDX-License-Identifier: Apache-2.0
 * "berth.nodes/1": the declared columns of the whole snapshot, for policies that look at all nodes before any block
 * reaches them (spreading counts pods per domain over every eligible node). */
#ifndef BERTH_EXT_ALL_NODES_H
#define BERTH_EXT_ALL_NODES_H

#include "cycle.h"

typedef struct berth_nodes_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Column `index` (what binder->column() returned) by slot: slot_count entries, 64-byte aligned and padded to a multiple
   * of 64. Slots that are not in cycle->nodes hold zero or the facts of a node that is gone. NULL for BERTH_NO_COLUMN and
   * for columns bound to a pod. Valid for the cycle.                                                   [cycle] [worker] */
  const void* (*column)(void* ctx, const berth_cycle_v1* cycle, uint32_t index);
  /* The same for a resource that is known by the pod or an object at hand only; kind: BERTH_COL_FREE, ALLOCATABLE,
   * REQUESTED or LISTED. Cheap after the first call for a resource: the host keeps the column from then on.         [cycle] */
  const int64_t* (*resource)(void* ctx, const berth_cycle_v1* cycle, uint32_t kind, berth_id resource);
  /* Never 0. As it was: since then no node has come or gone, and none has changed in anything but the pods on it: columns that say
   * nothing of pods are what they were.                                                                  [cycle] */
  uint64_t (*facts)(void* ctx, const berth_cycle_v1* cycle);
  /* The node of that name, or BERTH_NO_SLOT.                                                             [cycle] */
  berth_slot (*find)(void* ctx, const berth_cycle_v1* cycle, berth_id name);
} berth_nodes_v1;

#endif
