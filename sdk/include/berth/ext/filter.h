/* SPDX-License-Identifier: Apache-2.0
 * "berth.filter/1": judges a block of nodes for one pod. */
#ifndef BERTH_EXT_FILTER_H
#define BERTH_EXT_FILTER_H

#include "cycle.h"

enum {
  BERTH_FILTER_RECORDS = 2u /* ops->flags: remembers a decision per node, by slot in its state, where score and reserve of
                               the attempt read it; never reused                                       */
};

typedef struct berth_filter_out_v1 {
  uint32_t struct_size;
  uint32_t flags;         /* reserved: 0 on entry, and left so                                          */
  uint64_t* pass;         /* = candidates on entry; clear the bit of a node to reject it                */
  uint64_t* unresolvable; /* zero on entry; set where evicting pods cannot help                         */
  berth_reason* reasons;  /* NULL unless BERTH_CYCLE_WANT_REASONS: one id per row, 0 = no reason given  */
  void* ctx;              /* first argument of the functions below                                      */
  /* The candidate row cannot be judged: an error of this node alone, whatever its bits say. The pod's attempt ends with
   * `text` if the search reaches the node, as if filter had answered ERROR for a block of only that node. BAD_ARGS for a
   * row that is no candidate. Of a row's errors the first counts; its text is cut after 1,024 bytes.                     */
  berth_code (*fail_row)(void* ctx, uint32_t row, berth_str text);
  /* NULL unless BERTH_CYCLE_WANT_DETAILS: what a person may want to know about a row that is rejected, beyond its reason;
   * it is shown where one asks about the pod, and is never part of the pod's message. `count`: of how many things of the
   * node `text` is true ("device in use"); equal texts are added up over nodes. The host keeps the first 64 of a row.
   * BAD_ARGS for a row that is no candidate.                                                                             */
  berth_code (*add_detail)(void* ctx, uint32_t row, berth_str text, uint64_t count);
  uint64_t* pending; /* zero on entry; set for a rejected row that is out only for now: it counts as Pending           */
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
  /* Nanoseconds that filter may take in one attempt, over all blocks and what-ifs; 0, or no function: no limit. Asked once,
   * after create(). The host measures what the calls take and says in cycle->deadline_ns when the rest is used up. A
   * filter that looks at the time gives up then, with fail_row or ERROR; once nothing is left, the host calls it for that
   * attempt no more, and the nodes that remain fail.                                                              [load] */
  uint64_t (*budget_ns)(void* self);
  uint32_t deps; /* BERTH_DEP_*: what filter depends on, where that is less than the plugin's deps; 0: those. */
  uint32_t reserved; /* 0 */
} berth_filter_ops_v1;

#endif
