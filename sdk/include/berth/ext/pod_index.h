/* SPDX-License-Identifier: Apache-2.0
 * "berth.pod_index/1": the pods of the snapshot, grouped by what selectors can tell apart.
 *
 * A shape is a distinct combination of namespace, labels, affinity terms and "is terminating". Clusters have few shapes
 * and many pods, so a policy evaluates its selector once per shape and adds up counts. */
#ifndef BERTH_EXT_POD_INDEX_H
#define BERTH_EXT_POD_INDEX_H

#include "cycle.h"

enum { BERTH_SHAPE_TERMINATING = 1u << 0, BERTH_SHAPE_HAS_AFFINITY = 1u << 1, BERTH_SHAPE_HAS_REQUIRED_ANTI = 1u << 2 };

typedef struct berth_shape_node_v1 { /* closed */
  berth_slot slot;
  uint32_t count; /* > 0 */
} berth_shape_node_v1;

typedef struct berth_shape_v1 {
  uint32_t struct_size;
  uint32_t flags; /* BERTH_SHAPE_* */
  uint32_t shape; /* dense id; reused when its last pod is gone */
  berth_id ns;
  const berth_label_v1* labels; /* sorted by key id */
  const berth_affinity_v1* affinity;
  const berth_shape_node_v1* nodes; /* where such pods are, in no order; nodes outside the snapshot left out */
  uint32_t label_count;
  uint32_t node_count;
  uint64_t incarnation; /* of the shape: dense ids come back, incarnations never */
} berth_shape_v1;

typedef struct berth_shape_change_v1 { /* closed */
  uint64_t incarnation;
  uint32_t shape;
  berth_slot slot;
  int32_t by; /* so many pods of the shape more, or fewer, on the node; never 0 */
  uint32_t reserved;
} berth_shape_change_v1;

enum { BERTH_SHAPES_ALL = 0, BERTH_SHAPES_WITH_AFFINITY = 1, BERTH_SHAPES_WITH_REQUIRED_ANTI = 2 };

typedef struct berth_pod_index_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Visits the shapes of a namespace (0: all) until visit returns 0. A shape is valid until the cycle ends.    [cycle] */
  void (*each)(void* ctx, const berth_cycle_v1* cycle, uint32_t which, berth_id ns,
               uint32_t (*visit)(void* arg, const berth_shape_v1* shape), void* arg);
  /* Number of shapes that each() would visit for all namespaces: 0 lets a policy skip its work.                [cycle] */
  uint32_t (*count)(void* ctx, const berth_cycle_v1* cycle, uint32_t which);
  /* For counts that are kept between cycles: how many changes there have been.                           [cycle] */
  uint64_t (*position)(void* ctx, const berth_cycle_v1* cycle);
  /* Visits the changes from number `since` on, oldest first. Returns 0 when some of them are forgotten, or visit returned 0: count
   * again with each().                                                                                   [cycle] */
  uint32_t (*changes)(void* ctx, const berth_cycle_v1* cycle, uint64_t since,
                      uint32_t (*visit)(void* arg, const berth_shape_change_v1* change), void* arg);
  /* Visits the shape of that id if it has pods, whatever its namespace. Returns 0 if it has none.        [cycle] */
  uint32_t (*shape)(void* ctx, const berth_cycle_v1* cycle, uint32_t shape,
                    uint32_t (*visit)(void* arg, const berth_shape_v1* shape), void* arg);
} berth_pod_index_v1;

#endif
