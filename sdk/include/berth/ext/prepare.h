/* SPDX-License-Identifier: Apache-2.0
 * "berth.prepare/1": work once per pod, before filter and before score, and the state it leaves.
 * State is one opaque pointer per instance and cycle: pre_filter and pre_score may set cycle->state; worker calls read
 * it; state_free ends it. A plugin whose state other pods affect sets pod_added and pod_removed, and then state_clone:
 * what-if rows (nominated pods, preemption) work on clones. SKIP of these two: the state is as it was, and no pod of that
 * namespace, labels and affinity terms changes what filter says in this cycle. A NULL function pointer means "not
 * implemented": a profile may list the plugin at preFilter (preScore) only if pre_filter (pre_score) is set. */
#ifndef BERTH_EXT_PREPARE_H
#define BERTH_EXT_PREPARE_H

#include "cycle.h"

enum {
  BERTH_PREPARE_SKIP_SCORES_ZERO = 1u, /* ops->flags: where pre_filter answers SKIP, score gives every node 0, so that
                                        * a choice may do without it; where scores are shown it is called             */
  BERTH_PREPARE_SCORE_WITHOUT_NODES = 2u /* ops->flags: pre_score does not look at the feasible nodes; nodes may be NULL
                                          * whatever count says, which may be more than the feasible ones             */
};

typedef struct berth_prepare_out_v1 {
  uint32_t struct_size;
  uint32_t narrowed;    /* set to 1 when candidates was narrowed: upstream's "PreFilter result"    */
  uint64_t* candidates; /* by slot, all snapshot nodes on entry; clear bits of nodes that can never fit */
  uint64_t word_count;
} berth_prepare_out_v1;

typedef struct berth_prepare_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* BERTH_PREPARE_* */
  /* OK, SKIP (filter, pod_added and pod_removed are not called this cycle), UNSCHEDULABLE or UNRESOLVABLE (the pod as a
   * whole, with a sentence in the note), ERROR. Must not block, no side effects.                                 [cycle] */
  berth_code (*pre_filter)(void* self, berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note);
  /* OK, SKIP (score not called), ERROR. nodes: the feasible ones in the host's list order.                       [cycle] */
  berth_code (*pre_score)(void* self, berth_cycle_v1* cycle, const berth_slot* nodes, uint32_t count,
                          berth_note_v1* note);
  berth_code (*state_clone)(void* self, const void* from, void** to, berth_note_v1* note); /* [cycle] [worker] */
  void (*state_free)(void* self, void* state);                                            /* [any] */
  /* Another pod is imagined on, or away from, a node. cycle->state is the clone.                      [cycle] [worker] */
  berth_code (*pod_added)(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                          berth_note_v1* note);
  berth_code (*pod_removed)(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                            berth_note_v1* note);
} berth_prepare_ops_v1;

#endif
