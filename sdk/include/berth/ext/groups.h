/* SPDX-License-Identifier: Apache-2.0
 * "berth.groups/1": pods that get nodes together or not at all. The policy says which pods belong together and how
 * many of them are needed; the host knows the members, takes all that are ready out of the queue at once, plans them on one
 * snapshot and keeps no reservation unless the plan is complete. The id names both the extension point and the service.
 * One group policy per profile, the same one in every profile. Source: kubernetes v1.36 pkg/scheduler, pod group cycles. */
#ifndef BERTH_EXT_GROUPS_H
#define BERTH_EXT_GROUPS_H

#include "cycle.h"

typedef struct berth_quorum_v1 {
  uint32_t struct_size;
  uint32_t needed;  /* members that have to get nodes in one step, beyond those that have one; 0: each goes by itself */
  uint32_t hold_ms; /* longest time that members which are ready to be bound wait for the rest                       */
  uint32_t reserved;
} berth_quorum_v1;

/* "berth.groups/1": the extension point. Not listed in profiles: the plugin offers it wherever it is enabled. Pods
 * carry identity and placement besides the requested groups. */
typedef struct berth_group_ops_v1 {
  uint32_t struct_size;
  uint32_t flags; /* reserved, 0 */
  /* OK: *name is the name of the pod's group within its namespace, borrowed from the pod or static; empty, as on entry: none.
   * ERROR: it cannot be told, and the pod is held back until it can. A pure function of what it sees, for pods of every
   * scheduler. Must not call the host, but for text() of berth.intern/1.                                          [any] */
  berth_code (*group_of)(void* self, const berth_pod_v1* pod, berth_str* name, berth_note_v1* note);
  /* Asked before the members of the pod's group are planned. OK with *out; a rejection keeps the members in the queue
   * without a look at any node: UNRESOLVABLE words it as pre_filter's, UNSCHEDULABLE as permit's.             [cycle] */
  berth_code (*quorum)(void* self, const berth_pod_v1* pod, berth_quorum_v1* out, berth_note_v1* note);
} berth_group_ops_v1;

/* Finished pods are in no group any more. A pod that is being deleted counts in `all` alone. */
typedef struct berth_group_count_v1 {
  uint32_t struct_size;
  uint32_t all;
  uint32_t assigned; /* on a node, bound by any scheduler, or reserved                      */
  uint32_t ready;    /* pending, without scheduling gates, of a scheduler name of this host */
  uint32_t gated;    /* the same with scheduling gates                                      */
  uint32_t reserved;
} berth_group_count_v1;

/* "berth.groups/1": the service. */
typedef struct berth_groups_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  void (*count)(void* ctx, berth_id ns, berth_str group, berth_group_count_v1* out); /* [any] */
  /* Visits the members until visit returns 0, in no order; node_name of a reserved one is its node. Not from visit. [any] */
  void (*members)(void* ctx, berth_id ns, berth_str group, uint32_t (*visit)(void* arg, const berth_pod_v1* pod),
                  void* arg);
  /* "namespace/name" of the group whose members are being planned, borrowed until the call into the plugin ends; empty: the pod
   * at hand goes by itself. What a member has reserved may serve those that are planned after it.                [cycle] */
  void (*planned)(void* ctx, berth_str* group);
} berth_groups_v1;

#endif
