/* SPDX-License-Identifier: Apache-2.0
 * "berth.queue/1": order of the queue and gates in front of it. */
#ifndef BERTH_EXT_QUEUE_H
#define BERTH_EXT_QUEUE_H

#include "../abi/status.h"
#include "pods.h"

typedef struct berth_queue_pod_v1 {
  uint32_t struct_size;
  uint32_t attempts;
  int64_t enqueued_ns; /* wall clock: when the pod entered the queue after its last attempt */
  const berth_pod_v1* pod;
  int64_t first_attempt_ns; /* wall clock: when the pod entered the active queue for the first time */
} berth_queue_pod_v1;

/* Unset functions are NULL. A queue-sort plugin sets `key` (and key_words), `less` or both; a gate sets `pre_enqueue`. */
typedef struct berth_queue_ops_v1 {
  uint32_t struct_size;
  uint32_t key_words; /* 1..4; 0 = key unused */
  /* Maps a pod to key_words unsigned words compared most significant first; smaller is earlier. Must not block, < 10 us.
   * Called under the queue's lock. ERROR stops the host: an unordered queue is a defect.                         [watch] */
  berth_code (*key)(void* self, const berth_queue_pod_v1* pod, uint64_t* key, berth_note_v1* note);
  /* 1 when a comes before b. With a key it is asked about pods with equal keys only, and must not depend on time;
   * where key_words is 0 about all, which is slow.                                                              [watch] */
  int32_t (*less)(void* self, const berth_queue_pod_v1* a, const berth_queue_pod_v1* b);
  /* OK lets the pod into the active queue; any other code gates it until an event of the plugin's interests. The pod shows identity
   * and placement besides the requested groups.                                                                  [watch] */
  berth_code (*pre_enqueue)(void* self, const berth_queue_pod_v1* pod, berth_note_v1* note);
} berth_queue_ops_v1;

#endif
