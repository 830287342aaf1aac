/* SPDX-License-Identifier: Apache-2.0
 * "berth.pods/1": the pods that are on nodes, those that are nominated to one, and a journal of what came and went.
 *
 * All pods are there, whatever scheduler placed them, and those that this one has placed and the API server has not
 * confirmed. They are as the snapshot of the attempt has them: nothing changes while it lasts.
 *
 * What not to build on:
 *  - Order. Changes come attempt by attempt, but those of one attempt by node and in no order of time: a pod that moved
 *    may come before it goes, and a sum may be below 0 in between. Read all of them, then judge.
 *  - Every step. A pod that came and went between two attempts is in no change, and one that changed twice changed once.
 *    What is true is the sum: of each(), and of all changes since.
 *  - That a pod comes once. Its confirmation by the API server, its deletion timestamp and any other change are a -1 of the
 *    pod as it was, flags included, and a 1 of the same uid. When a node goes, its pods go; they come again with it.
 *  - No gaps. 0 of changes() means that sums have to be counted again with each(), from nothing: what visit was
 *    shown of that call, if anything, is in it too. A policy that looks rarely meets this often.
 *  - Lifetime. A pod, what it points to and the ids in it are valid during the visit: copy texts, and pin() ids that are
 *    kept. A slot is valid during the attempt; another node may have it later. A position means something to the process
 *    that gave it, and to no other. */
#ifndef BERTH_EXT_PLACED_PODS_H
#define BERTH_EXT_PLACED_PODS_H

#include "cycle.h"

enum {
  BERTH_PLACED_TERMINATING = 1u << 0,    /* metadata.deletionTimestamp is set                        */
  BERTH_PLACED_ASSUMED = 1u << 1,        /* placed here, not yet confirmed by the API server         */
  BERTH_PLACED_OTHER_SCHEDULER = 1u << 2 /* no profile of this process has its scheduler name        */
};

typedef struct berth_placed_pod_v1 {
  uint32_t struct_size;
  uint32_t flags;   /* BERTH_PLACED_*                                                                */
  berth_slot node;
  int32_t by;       /* in changes(): 1, the pod came, or -1, it went. Else 1                          */
  const berth_pod_v1* pod; /* the requested groups, identity, namespace, priority and placement; valid during the visit */
} berth_placed_pod_v1;

typedef struct berth_pods_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Visits the pods on a node, in no order, until visit returns 0.                                    [cycle] [worker] */
  void (*on_node)(void* ctx, const berth_cycle_v1* cycle, berth_slot node,
                  uint32_t (*visit)(void* arg, const berth_placed_pod_v1* pod), void* arg);
  /* The same for all nodes of the snapshot.                                                                    [cycle] */
  void (*each)(void* ctx, const berth_cycle_v1* cycle, uint32_t (*visit)(void* arg, const berth_placed_pod_v1* pod),
               void* arg);
  /* Visits the pods that are nominated to the node (BERTH_NO_SLOT: to any), and are not on it; in order of nomination for one
   * node. The pod at hand is among them if it is nominated.                                                    [cycle] */
  void (*nominated)(void* ctx, const berth_cycle_v1* cycle, berth_slot node,
                    uint32_t (*visit)(void* arg, const berth_placed_pod_v1* pod), void* arg);
  /* How many changes there have been: of sums over each(), what to pass to changes() next time. Never 0.       [cycle] */
  uint64_t (*position)(void* ctx, const berth_cycle_v1* cycle);
  /* Visits the changes from number `since` on, oldest first. A pod that changed in something went as it was and came as it
   * is. The host keeps changes from the first call of position() on: 16,384 of them, and 8 MiB of pods. Returns 1; 0 when
   * some are forgotten, or visit returned 0: count again with each().                                          [cycle] */
  uint32_t (*changes)(void* ctx, const berth_cycle_v1* cycle, uint64_t since,
                      uint32_t (*visit)(void* arg, const berth_placed_pod_v1* change), void* arg);
} berth_pods_v1;

#endif
