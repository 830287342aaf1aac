/* SPDX-License-Identifier: Apache-2.0
 * "berth.filter/1": judges a block of nodes for one pod. */
#ifndef BERTH_EXT_FILTER_H
#define BERTH_EXT_FILTER_H

#include "cycle.h"

enum {
  BERTH_FILTER_COSTLY = 1u, /* ops->flags: more than about 1 us per node                               */
  BERTH_FILTER_RECORDS = 2u /* ops->flags: remembers a decision per node in its state; never reused     */
};
enum { BERTH_FILTER_PENDING = 1u }; /* out->flags: rejections count as Pending */

typedef struct berth_filter_out_v1 {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t* pass;         /* = candidates on entry; clear the bit of a node to reject it                */
  uint64_t* unresolvable; /* zero on entry; set where evicting pods cannot help                         */
  berth_reason* reasons;  /* NULL unless BERTH_CYCLE_WANT_REASONS: one id per row, 0 = no reason given  */
} berth_filter_out_v1;

typedef struct berth_filter_ops_v1 {
  uint32_t struct_size;
  uint32_t flags;
  /* A pure function of what was declared. Rows outside candidates may be computed but must not cause an error. Called
   * concurrently for different blocks of one cycle; only for blocks with at least one candidate. Must not block.
   * Returns OK (rejections are bits, not codes) or ERROR: every candidate row of the block counts as failed, the pod's
   * attempt ends with the note's text.                                                                          [worker] */
  berth_code (*filter)(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                       berth_filter_out_v1* out, berth_note_v1* note);
} berth_filter_ops_v1;

#endif
