/* SPDX-License-Identifier: Apache-2.0
 * "berth.reserve/1": the first call that may change plugin state for a chosen node, and its undoing. */
#ifndef BERTH_EXT_RESERVE_H
#define BERTH_EXT_RESERVE_H

#include "cycle.h"

typedef struct berth_reserve_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* OK, UNSCHEDULABLE, UNRESOLVABLE, PENDING, ERROR.                                                            [cycle] */
  berth_code (*reserve)(void* self, berth_cycle_v1* cycle, berth_slot node, berth_note_v1* note);
  /* Idempotent; tolerates a reserve that never ran: on any failure all plugins are called, in reverse order.
   * [cycle] [binder] */
  void (*unreserve)(void* self, berth_cycle_v1* cycle, berth_slot node);
} berth_reserve_ops_v1;

#endif
