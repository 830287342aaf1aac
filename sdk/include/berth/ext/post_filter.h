/* SPDX-License-Identifier: Apache-2.0
 * "berth.post_filter/1": what to do when no node fits. Victim search by simulation is the host's (berth.dry_run/1). */
#ifndef BERTH_EXT_POST_FILTER_H
#define BERTH_EXT_POST_FILTER_H

#include "cycle.h"

enum { BERTH_NOMINATE_KEEP = 0, BERTH_NOMINATE_CLEAR = 1, BERTH_NOMINATE_SET = 2 };

typedef struct berth_post_filter_in_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  const uint64_t* unschedulable; /* by slot: rejected, eviction may help      */
  const uint64_t* unresolvable;  /* by slot: rejected, eviction cannot help   */
  uint64_t word_count;
} berth_post_filter_in_v1;

typedef struct berth_post_filter_out_v1 {
  uint32_t struct_size;
  uint32_t nominate; /* BERTH_NOMINATE_*, KEEP on entry */
  berth_slot node;   /* NOMINATE_SET */
  uint32_t reserved;
  void* victims_ctx;
  /* Names a pod to evict from `node`, once per victim. The host evicts after the cycle.                         [cycle] */
  void (*add_victim)(void* victims_ctx, berth_str uid);
} berth_post_filter_out_v1;

typedef struct berth_post_filter_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* OK (nominated; stop), UNSCHEDULABLE or PENDING (nothing found; the next plugin is asked), UNRESOLVABLE (stop),
   * ERROR (stop). A sentence in the note becomes part of the pod's message. It may write objects, and does not wait for
   * the answer.                                                                                                 [cycle] */
  berth_code (*post_filter)(void* self, berth_cycle_v1* cycle, const berth_post_filter_in_v1* in,
                            berth_post_filter_out_v1* out, berth_note_v1* note);
} berth_post_filter_ops_v1;

#endif
