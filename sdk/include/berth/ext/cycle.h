/* SPDX-License-Identifier: Apache-2.0
 * One attempt to place one pod. */
#ifndef BERTH_EXT_CYCLE_H
#define BERTH_EXT_CYCLE_H

#include "../abi/status.h"
#include "pods.h"

enum {
  BERTH_CYCLE_WANT_REASONS = 1u, /* filter: fill out->reasons                                  */
  BERTH_CYCLE_DRY_RUN = 2u,      /* a what-if: nominated pods added, victims removed           */
  BERTH_CYCLE_WANT_DETAILS = 4u  /* filter: call out->add_detail for rejected rows             */
};

typedef struct berth_cycle_v1 {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t cycle_id;
  uint64_t deadline_ns; /* monotonic, in calls of a filter with a budget: when it is used up; 0 = none */
  uint64_t pod_class;   /* equal classes => equal declared inputs, in this process; 0 = none        */
  const berth_pod_v1* pod;
  void* state;           /* this instance's slot for this cycle: written in pre_filter and pre_score only */
  const uint64_t* nodes; /* by slot: the nodes of the snapshot; NULL in [binder] calls               */
  uint64_t word_count;   /* of bitmaps by slot                                                       */
  uint32_t node_count;   /* set bits in nodes                                                        */
  uint32_t slot_count;   /* one past the highest slot                                                */
} berth_cycle_v1;

#endif
