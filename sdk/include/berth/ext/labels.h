/* SPDX-License-Identifier: Apache-2.0
 * "berth.labels/1": node labels of the snapshot by slot, for keys that only the pod at hand names. */
#ifndef BERTH_EXT_LABELS_H
#define BERTH_EXT_LABELS_H

#include "cycle.h"

typedef struct berth_labels_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Value ids of label `key` by slot (0 = absent), slot_count entries padded to 64. Valid for the cycle. Cheap after the
   * first call for a key: the host keeps the column from then on.                                              [cycle] */
  const berth_id* (*column)(void* ctx, const berth_cycle_v1* cycle, berth_id key);
  /* Posting bitmap by slot of the nodes that meet one requirement; word_count words, overwritten.
   * BAD_ARGS for an operator that is not known.                                                                [cycle] */
  berth_code (*match)(void* ctx, const berth_cycle_v1* cycle, const berth_requirement_v1* requirement, uint64_t* out,
                      uint64_t word_count);
} berth_labels_v1;

#endif
