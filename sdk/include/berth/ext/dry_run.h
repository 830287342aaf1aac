/* SPDX-License-Identifier: Apache-2.0
 * "berth.dry_run/1": would the pod fit on a node if some pods were not there? Runs the whole filter chain of the
 * profile on a what-if row with cloned state. */
#ifndef BERTH_EXT_DRY_RUN_H
#define BERTH_EXT_DRY_RUN_H

#include "cycle.h"

typedef struct berth_dry_run_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Visits the pods of a node with their priority until visit returns 0.                                       [cycle] */
  void (*pods_on)(void* ctx, const berth_cycle_v1* cycle, berth_slot node,
                  uint32_t (*visit)(void* arg, const berth_pod_v1* pod), void* arg);
  /* OK: fits without the pods of `removed`; UNSCHEDULABLE / UNRESOLVABLE: does not; NOT_FOUND: no such node or pod;
   * ERROR with the text of the plugin that failed. Only from post_filter, with the cycle it was given.         [cycle] */
  berth_code (*fits_without)(void* ctx, const berth_cycle_v1* cycle, berth_slot node, const berth_str* removed_uids,
                             uint32_t count, berth_note_v1* note);
} berth_dry_run_v1;

#endif
