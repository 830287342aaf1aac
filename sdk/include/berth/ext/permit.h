/* SPDX-License-Identifier: Apache-2.0
 * "berth.permit/1": approve, deny or delay a reserved pod; "berth.waiting/1": decide about delayed ones. */
#ifndef BERTH_EXT_PERMIT_H
#define BERTH_EXT_PERMIT_H

#include "cycle.h"

typedef struct berth_permit_out_v1 {
  uint32_t struct_size;
  uint32_t timeout_ms; /* WAIT only; capped at 15 minutes */
} berth_permit_out_v1;

typedef struct berth_permit_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* OK, WAIT (+ timeout), UNSCHEDULABLE, UNRESOLVABLE, PENDING, ERROR.                                          [cycle] */
  berth_code (*permit)(void* self, const berth_cycle_v1* cycle, berth_slot node, berth_permit_out_v1* out,
                       berth_note_v1* note);
} berth_permit_ops_v1;

/* Service "berth.waiting/1": pods parked by any permit plugin, keyed by uid. A decision is final. A waiting pod holds no
 * thread. A pod is parked before its cycle's permit point returns to the loop, so allow() from inside permit() about the
 * pod at hand answers NOT_FOUND. */
typedef struct berth_waiting_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  berth_code (*allow)(void* ctx, berth_str uid);                     /* on behalf of this plugin; OK, NOT_FOUND   [any] */
  berth_code (*reject)(void* ctx, berth_str uid, berth_str message); /* OK, NOT_FOUND                             [any] */
  /* Calls visit for each waiting pod of the namespace (0: all); stops when it returns 0. Not from visit.         [any] */
  void (*each)(void* ctx, berth_id ns, uint32_t (*visit)(void* arg, const berth_pod_v1* pod, berth_str node_name),
               void* arg);
} berth_waiting_v1;

#endif
