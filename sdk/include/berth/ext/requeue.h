/* SPDX-License-Identifier: Apache-2.0
 * "berth.requeue/1": which cluster events may make a rejected pod schedulable, and a closer look per event.
 * Numbers and matching: kubernetes v1.36 staging/src/k8s.io/kube-scheduler/framework/types.go. */
#ifndef BERTH_EXT_REQUEUE_H
#define BERTH_EXT_REQUEUE_H

#include "cycle.h"
#include "objects.h"

enum {
  BERTH_ACTION_ADD = 1,
  BERTH_ACTION_DELETE = 2,
  BERTH_ACTION_UPDATE_NODE_ALLOCATABLE = 4,
  BERTH_ACTION_UPDATE_NODE_LABEL = 8,
  BERTH_ACTION_UPDATE_NODE_TAINT = 16,
  BERTH_ACTION_UPDATE_NODE_CONDITION = 32,
  BERTH_ACTION_UPDATE_NODE_ANNOTATION = 64,
  BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE = 128,
  BERTH_ACTION_UPDATE_POD_LABEL = 256,
  BERTH_ACTION_UPDATE_POD_SCALE_DOWN = 512,
  BERTH_ACTION_UPDATE_POD_TOLERATION = 1024,
  BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048,
  BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096,
  BERTH_ACTION_UPDATE = 8188,
  BERTH_ACTION_ALL = 8191
};

enum {
  BERTH_KIND_POD = 1,
  BERTH_KIND_NODE = 2,
  BERTH_KIND_PERSISTENT_VOLUME = 3,
  BERTH_KIND_PERSISTENT_VOLUME_CLAIM = 4,
  BERTH_KIND_CSI_NODE = 5,
  BERTH_KIND_CSI_DRIVER = 6,
  BERTH_KIND_VOLUME_ATTACHMENT = 7,
  BERTH_KIND_CSI_STORAGE_CAPACITY = 8,
  BERTH_KIND_STORAGE_CLASS = 9,
  BERTH_KIND_RESOURCE_CLAIM = 10,
  BERTH_KIND_RESOURCE_SLICE = 11,
  BERTH_KIND_DEVICE_CLASS = 12,
  BERTH_KIND_POD_GROUP = 13,
  BERTH_KIND_ASSIGNED_POD = 14,      /* incoming events only */
  BERTH_KIND_UNSCHEDULABLE_POD = 15, /* incoming events only */
  BERTH_KIND_ANY = 255,
  BERTH_KIND_WATCH = 256, /* + the number that berth.objects/1 watch() returned */
  /* + the watch's place among those of the instance, 0 for the first: known before create(), so that the table of
   * interests may be constant. Interests only; events say KIND_WATCH                                              */
  BERTH_KIND_OWN_WATCH = 65536
};

/* Host answers for node events by running this plugin's filter on the new row (usage columns of an empty node), so no hint
 * can disagree with the filter. For filters of pod and node alone: a plugin with pre_filter is always asked to try again. */
enum { BERTH_INTEREST_DERIVED = 1u };

typedef struct berth_interest_v1 { /* closed */
  uint32_t resource;
  uint32_t actions;
  uint32_t flags;
  uint32_t hinted; /* 1: ask hint(); 0: always queue */
} berth_interest_v1;

typedef struct berth_event_v1 {
  uint32_t struct_size;
  uint32_t interest; /* index into interests */
  uint32_t resource;
  uint32_t actions;
  const berth_node_block_v1* old_node; /* one row with this instance's columns, or NULL. Usage columns read as an empty node */
  const berth_node_block_v1* new_node;
  const berth_pod_v1* old_pod; /* requested groups, identity and placement, or NULL */
  const berth_pod_v1* new_pod;
  /* Fields of the watch that the interest is about; for an interest in a KIND with a resource (PERSISTENT_VOLUME, ...),
   * of this instance's first watch of that resource. NULL without a watch, for pods and for nodes. */
  const berth_object_v1* old_object;
  const berth_object_v1* new_object;
} berth_event_v1;

typedef struct berth_requeue_ops_v1 {
  uint32_t struct_size;
  uint32_t interest_count; /* 0: the plugin's pods are never moved by events */
  const berth_interest_v1* interests;
  /* One event, many waiting pods that this plugin rejected: set bit i of queue (zero on entry) to queue pods[i]. The pods
   * carry identity and placement besides the requested groups. NULL means "always queue". ERROR means queue all. [watch] */
  berth_code (*hint)(void* self, const berth_event_v1* event, const berth_pod_v1* const* pods, uint32_t count,
                     uint64_t* queue, berth_note_v1* note);
} berth_requeue_ops_v1;

#endif
