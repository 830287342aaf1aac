/* SPDX-License-Identifier: Apache-2.0
 * "berth.bind/1": pre-bind, bind and post-bind, without parked threads. */
#ifndef BERTH_EXT_BIND_H
#define BERTH_EXT_BIND_H

#include "cycle.h"

/* Lives until complete() has been called or the synchronous function returned. */
typedef struct berth_bind_call_v1 {
  uint32_t struct_size;
  uint32_t flags;
  void* ctx;
  berth_str node_name;
  uint32_t (*cancelled)(void* ctx);                               /* preempted, shutdown                          [any] */
  void (*complete)(void* ctx, berth_code code, berth_str text);   /* exactly once, before or after ASYNC returned [any] */
  uint32_t (*pod_exists)(void* ctx); /* 0: it was deleted, or replaced under its name                          [any] */
  /* Calls use once with the node as it is now: one row with this instance's columns, usage columns as of an empty node.
   * NOT_FOUND without such a node.                                                                              [any] */
  berth_code (*node)(void* ctx, void (*use)(void* arg, const berth_node_block_v1* row), void* arg);
} berth_bind_call_v1;

enum { BERTH_PRE_BIND_PARALLEL = 1u };

/* Return ASYNC and call complete() later, or a final code and never call complete(). Unset functions are NULL. There is
 * no snapshot any more: cycle->nodes is NULL, `node` is the slot the pod was reserved on. */
typedef struct berth_bind_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* OK (will act), SKIP (leave me out of pre_bind), ERROR. *flags_out: BERTH_PRE_BIND_PARALLEL.                 [binder] */
  berth_code (*pre_bind_check)(void* self, const berth_cycle_v1* cycle, berth_slot node, uint32_t* flags_out,
                               berth_note_v1* note);
  berth_code (*pre_bind)(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note); /* [binder] */
  /* SKIP hands the pod to the next bind plugin.                                                                 [binder] */
  berth_code (*bind)(void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note);
  void (*post_bind)(void* self, berth_cycle_v1* cycle, const berth_bind_call_v1* call); /* the pod is bound       [binder] */
} berth_bind_ops_v1;

#endif
