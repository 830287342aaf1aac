/* SPDX-License-Identifier: Apache-2.0
 * Nodes as blocks of columns. A plugin asks for columns in create() and gets exactly those, in that order. */
#ifndef BERTH_EXT_NODES_H
#define BERTH_EXT_NODES_H

#include "../abi/types.h"

/* Column kinds. "set" columns hold the id of a distinct list that many nodes share; berth.sets/1 lists its members. */
enum {
  BERTH_COL_FREE = 1,           /* int64: allocatable - requested, may be negative; key = resource              */
  BERTH_COL_ALLOCATABLE = 2,    /* int64: status.allocatable; key = resource ("pods": the number of pods allowed) */
  BERTH_COL_REQUESTED = 3,      /* int64: sum over the node's pods; key = resource                              */
  BERTH_COL_NONZERO = 4,        /* int64: like REQUESTED with 100m / 200Mi where absent; key cpu or memory      */
  BERTH_COL_PODS = 5,           /* int64: number of pods on the node                                            */
  BERTH_COL_LABEL = 6,          /* u32: id of the value of label <key>, 0 = absent                              */
  BERTH_COL_TAINT_SET = 7,      /* u32: set of berth_taint_v1 in the node's order, 0 = none                     */
  BERTH_COL_NAME = 8,           /* u32: id of the node name                                                     */
  BERTH_COL_UNSCHEDULABLE = 9,  /* bitmap: spec.unschedulable                                                   */
  BERTH_COL_IMAGE_SET = 10,     /* u32: set of berth_image_v1 sorted by name id, 0 = none                       */
  BERTH_COL_PORT_SET = 11,      /* u32: set of berth_host_port_v1 in use, 0 = none                              */
  BERTH_COL_FEATURE_SET = 12,   /* u32: set of berth_id, declared features in the node's order, 0 = none        */
  BERTH_COL_ANNOTATION = 13,    /* u32: id of the value of annotation <key>, 0 = absent                         */
  BERTH_COL_LABEL_SET = 14,     /* u32: set of berth_label_v1 sorted by key id, 0 = none                        */
  /* Columns bound to the pod of the call: columns[i] is an array of `const int64_t*`, one per entry of the pod's
   * `resources`, in that order. For policies that judge whatever a pod asks for. NULL when no pod is at hand.    */
  BERTH_COL_POD_FREE = 15,
  BERTH_COL_POD_ALLOCATABLE = 16,
  /* u32: set of berth_node_volume_v1, one per pod on the node and volume of it, sorted; 0 = none                 */
  BERTH_COL_VOLUME_SET = 17,
  BERTH_COL_CONDITION = 18, /* u32: id of the status of the node's condition of type <key>, 0 = none such           */
  /* int64: 1 where the node's allocatable names the resource, be it as 0. Of berth.nodes/1 resource() only        */
  BERTH_COL_LISTED = 20,
  BERTH_COL_STATUS_CAPACITY = 21,  /* int64: status.capacity; key = resource, "pods" too                            */
  /* bitmaps next to integer columns: whether the node names the resource, be it as 0. What it does not name is 0 there. */
  BERTH_COL_HAS_ALLOCATABLE = 22,     /* status.allocatable; key = resource, "pods" too                             */
  BERTH_COL_HAS_STATUS_CAPACITY = 23  /* status.capacity; likewise                                                  */
};

/* Up to 4096 nodes. Every buffer is 64-byte aligned and padded to a multiple of 64 rows; pad rows hold zero, and so may
 * rows that are no candidates: never divide by a column without a guard. */
typedef struct berth_node_block_v1 {
  uint32_t struct_size;
  uint32_t rows;
  berth_slot first_slot;      /* meaningful when slots == NULL                                     */
  uint32_t column_count;
  const berth_slot* slots;    /* NULL: row i is slot first_slot + i. Else a gathered block; BERTH_NO_SLOT for a node
                                 that is not in the snapshot (the old or new state in a hint)      */
  const uint64_t* candidates; /* rows that need an answer; bits past rows are 0                    */
  const void* const* columns; /* in the order binder->column() returned them                       */
} berth_node_block_v1;

/* Members of sets. Closed types. */
typedef struct berth_label_v1 {
  berth_id key;
  berth_id value;
} berth_label_v1;

enum {
  BERTH_EFFECT_OTHER = 0, /* a word that is none of the three */
  BERTH_EFFECT_NO_SCHEDULE = 1,
  BERTH_EFFECT_PREFER_NO_SCHEDULE = 2,
  BERTH_EFFECT_NO_EXECUTE = 3,
  BERTH_EFFECT_ANY = 4 /* tolerations only: no effect given */
};
typedef struct berth_taint_v1 {
  berth_id key;
  berth_id value; /* BERTH_ID_EMPTY when empty */
  uint32_t effect; /* BERTH_EFFECT_* */
  uint32_t reserved;
} berth_taint_v1;

typedef struct berth_image_v1 {
  berth_id name; /* as the node reports it */
  uint32_t node_count; /* nodes that had the image when this node's row was last refreshed */
  int64_t size_bytes;
} berth_image_v1;

typedef struct berth_host_port_v1 {
  berth_id ip;       /* never 0: an empty hostIP is the id of "0.0.0.0" */
  berth_id protocol; /* never 0: empty is the id of "TCP"               */
  int32_t port;      /* > 0 */
  uint32_t any_ip;   /* 1 when ip is "0.0.0.0" */
} berth_host_port_v1;

/* A volume of a pod on the node, of kind CLAIM, EPHEMERAL or INLINE (pods.h). Two pods with the same volume are two
 * entries. */
typedef struct berth_node_volume_v1 { /* closed */
  berth_id ns;       /* of the pod                                       */
  berth_id source;   /* what berth_volume_v1.source holds, as an id       */
  berth_id pod_name; /* EPHEMERAL only, else 0                            */
  berth_id pod_uid;  /* EPHEMERAL only, else 0                            */
  uint32_t kind;     /* BERTH_VOLUME_*                                    */
  uint32_t reserved;
} berth_node_volume_v1;

/* Service "berth.sets/1": members of the set in a column. Valid while the block is; ids are stable for equal lists. */
typedef struct berth_sets_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  const berth_taint_v1* (*taints)(void* ctx, uint32_t set, uint32_t* count);         /* [any] */
  const berth_image_v1* (*images)(void* ctx, uint32_t set, uint32_t* count);         /* [any] */
  const berth_host_port_v1* (*ports)(void* ctx, uint32_t set, uint32_t* count);      /* [any] */
  const berth_id* (*features)(void* ctx, uint32_t set, uint32_t* count);             /* [any] */
  const berth_label_v1* (*labels)(void* ctx, uint32_t set, uint32_t* count);         /* [any] */
  const berth_node_volume_v1* (*volumes)(void* ctx, uint32_t set, uint32_t* count);  /* [any] */
  /* Grows when numbers of sets that no node had any more may come back for other lists: a plugin that remembers answers
   * by set number between cycles forgets them then.                                                          [cycle] */
  uint64_t (*recycled)(void* ctx);
} berth_sets_v1;

#endif
