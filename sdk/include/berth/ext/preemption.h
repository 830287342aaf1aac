/* SPDX-License-Identifier: Apache-2.0
 * "berth.preemption/1": which pods would have to go so that a pod fits. The host searches all nodes with what-if
 * rows and counts disruption budgets; the policy says who matters more and which node is the best choice. */
#ifndef BERTH_EXT_PREEMPTION_H
#define BERTH_EXT_PREEMPTION_H

#include "cycle.h"

/* A pod that may have to go. */
enum {
  BERTH_VICTIM_TERMINATING = 1u << 0, /* deletionTimestamp is set                                              */
  BERTH_VICTIM_PREEMPTED = 1u << 1    /* its first DisruptionTarget condition names a preemption by a scheduler  */
};
#define BERTH_NOT_STARTED INT64_MAX /* start_ns of a pod without status.startTime */

/* What a search reads of it; show() has the rest. */
typedef struct berth_victim_v1 { /* closed */
  int64_t start_ns; /* status.startTime on the wall clock; BERTH_NOT_STARTED without one */
  int32_t priority;
  uint32_t flags;    /* BERTH_VICTIM_*                                                   */
  uint32_t position; /* in the node's list of pods                                       */
  berth_slot node;   /* where it is; with the position it says which pod this is, for the cycle */
} berth_victim_v1;

/* What would be evicted from one node, as far as it is known. */
typedef struct berth_victims_v1 { /* closed */
  const berth_victim_v1* pods; /* that are less important than the incoming one, most important first */
  const uint8_t* evicted;      /* 1: has to go                                                        */
  uint32_t count;
  uint32_t violations; /* victims that exceed what a disruption budget allows                         */
} berth_victims_v1;

typedef struct berth_preemptor_v1 {
  uint32_t struct_size;
  uint32_t never;           /* preemptionPolicy is Never                                                           */
  int64_t priority;
  uint32_t nominated_given; /* status.nominatedNodeName is set                                                     */
  berth_slot nominated;     /* that node, or BERTH_NO_SLOT when it is not in the snapshot                          */
} berth_preemptor_v1;

/* The judgement of a preemption policy. All functions are pure and called on the cycle's thread. */
enum { BERTH_RANK_WORDS_MAX = 8 };
typedef struct berth_preemption_policy_v1 {
  uint32_t struct_size;
  uint32_t rank_words;       /* 1..BERTH_RANK_WORDS_MAX                                                            */
  const berth_str* criteria; /* one name per word, for explanations                                               */
  /* Two words per pod; a smaller pair is a more important pod. Equal pairs keep the order of the node's list. Asked
   * once per pod and remembered.                                                                         [cycle] */
  void (*importance)(void* self, const berth_victim_v1* pods, uint32_t count, uint64_t* keys);
  /* rank_words words per node; smaller is better, earlier words count first; equal ranks: the earlier node. A further
   * victim must never make a rank smaller: nodes are given up early by this.                             [cycle] */
  void (*rank)(void* self, const berth_victims_v1* nodes, uint32_t count, uint64_t* ranks);
} berth_preemption_policy_v1;

typedef struct berth_preemption_request_v1 {
  uint32_t struct_size;
  uint32_t sample_size;    /* 0: every node; else the search ends as upstream's does with that many candidates     */
  uint32_t sample_offset;  /* sampling: index among `nodes`, in list order, of the first one                       */
  uint32_t reserved;
  const uint64_t* nodes;   /* by slot: where to look                                                               */
  uint64_t word_count;
  int64_t below_priority;  /* pods of lower priority may go                                                        */
  const berth_preemption_policy_v1* policy;
  berth_str prefix;        /* before the explanation of a search that found nothing                                */
  berth_str no_victims;    /* sentence for a node without pods that may go                                         */
  berth_str not_searched;  /* sentence for the nodes outside `nodes`                                               */
  /* 0: this pod stays, whatever its priority. Asked once per pod on a node that is looked at and search, of pods below
   * below_priority, which may be INT64_MAX: all of them. The pod shows the requested groups, identity, namespace, priority and
   * placement. Pure. NULL: all that are below may go.                                                    [cycle] */
  uint32_t (*may_go)(void* arg, const berth_pod_v1* pod, berth_slot node);
  void* may_go_arg;
} berth_preemption_request_v1;

typedef struct berth_preemption_result_v1 {
  uint32_t struct_size;
  berth_slot node;        /* BERTH_NO_SLOT: none                                                                   */
  uint32_t candidates;    /* nodes on which evictions make room                                                    */
  uint32_t violations;    /* on the chosen node                                                                    */
  uint32_t victim_count;
  berth_reason explanation; /* UNSCHEDULABLE: the sentence for the pod, prefix included; lives for the cycle       */
} berth_preemption_result_v1;

typedef struct berth_preemption_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  void (*preemptor)(void* ctx, const berth_cycle_v1* cycle, berth_preemptor_v1* out);                 /* [cycle] */
  /* Visits the pods on a node until visit returns 0.                                                    [cycle] */
  void (*pods_on)(void* ctx, const berth_cycle_v1* cycle, berth_slot node,
                  uint32_t (*visit)(void* arg, const berth_victim_v1* pod), void* arg);
  /* OK: result->node is the choice; UNSCHEDULABLE: evictions help nowhere; ERROR with the text of what failed. Runs the
   * filters of the profile on what-if rows with cloned state: first without all pods that may go, then with one after the
   * other back, those that a disruption budget protects first, the most important first. Only from post_filter, with the
   * cycle it was given. `self` goes to the policy's functions.                                          [cycle] */
  berth_code (*search)(void* ctx, const berth_cycle_v1* cycle, const berth_preemption_request_v1* request, void* self,
                       berth_preemption_result_v1* result, berth_note_v1* note);
  /* The uids of the victims of the last search, most important first.                                   [cycle] */
  void (*victims)(void* ctx, const berth_cycle_v1* cycle, void (*visit)(void* arg, berth_str uid), void* arg);
  /* 1 while evictions that an earlier attempt of this pod asked for are under way.                 [watch] [any] */
  uint32_t (*evicting)(void* ctx, berth_str uid);
  /* The pod that a victim is: calls use with the requested groups, identity, namespace, priority and placement. NOT_FOUND for
   * one that is not there any more. Also from importance, rank and may_go.                                [cycle] */
  berth_code (*show)(void* ctx, const berth_cycle_v1* cycle, const berth_victim_v1* victim,
                     void (*use)(void* arg, const berth_pod_v1* pod), void* arg);
  /* Visits the victims of the last search, most important first, with what there is to know of them.    [cycle] */
  void (*chosen)(void* ctx, const berth_cycle_v1* cycle,
                 void (*visit)(void* arg, const berth_victim_v1* victim, const berth_pod_v1* pod), void* arg);
} berth_preemption_v1;

#endif
