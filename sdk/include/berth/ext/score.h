/* SPDX-License-Identifier: Apache-2.0
 * "berth.score/1": scores a block of nodes for one pod. */
#ifndef BERTH_EXT_SCORE_H
#define BERTH_EXT_SCORE_H

#include "cycle.h"

#define BERTH_SCORE_MAX 100 /* in every mode but that of old configurations: berth_host_v1.score_max says it */

enum {
  BERTH_NORM_NONE = 0,         /* raw is already 0..100                                                          */
  BERTH_NORM_MAX = 1,          /* m = max(0, raw...); m == 0: unchanged; else 100 * raw / m                       */
  BERTH_NORM_MAX_REVERSED = 2, /* m == 0: all 100; else 100 - 100 * raw / m                                       */
  BERTH_NORM_MINMAX = 3,       /* trunc(100.0 * ((double)(raw - min) / (double)(max - min))); 0 if max == min     */
  BERTH_NORM_CUSTOM = 4,
  BERTH_NORM_MINMAX_INTEGER = 5 /* (raw - min) * 100 / (max - min) in integers, exact; 0 if max == min             */
};

typedef struct berth_score_ops_v1 {
  uint32_t struct_size;
  uint32_t normalize_kind; /* BERTH_NORM_* */
  /* Writes raw[i] for each candidate row; other elements are ignored. Same rules as filter; codes OK and ERROR. [worker] */
  berth_code (*score)(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, int64_t* raw,
                      berth_note_v1* note);
  /* NORM_CUSTOM only: scores[i] belongs to nodes[i], all feasible nodes at once, in place.                      [cycle] */
  berth_code (*normalize)(void* self, const berth_cycle_v1* cycle, const berth_slot* nodes, int64_t* scores,
                          uint32_t count, berth_note_v1* note);
  uint32_t deps; /* BERTH_DEP_*: what score depends on, where that is less than the plugin's deps; 0: those. */
  uint32_t reserved; /* 0 */
} berth_score_ops_v1;

#endif
