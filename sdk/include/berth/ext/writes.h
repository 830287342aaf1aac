/* SPDX-License-Identifier: Apache-2.0
 * "berth.writes/1": changes to API objects through the host's client: rate limit, audit, dry run, attribution.
 * Each write needs its rule in the note, or is DENIED: bind "rbac=create core/pods/binding", patch_pod_status
 * "rbac=patch core/pods/status", patch_pod_metadata "rbac=patch core/pods", evict "rbac=delete core/pods", patch_object
 * "rbac=patch <group>/<plural>" ("rbac=patch core/persistentvolumes"). */
#ifndef BERTH_EXT_WRITES_H
#define BERTH_EXT_WRITES_H

#include "cycle.h"

/* Asynchronous: `done` is called exactly once, from any thread, possibly before the call returns; it may be NULL. The call
 * returns OK when the write was taken, DENIED or BAD_ARGS (with `done` not called) otherwise: BAD_ARGS for an empty name, and
 * for a patch that is no JSON object or changes what it may not; the log says which. The code of `done` is OK, NOT_FOUND when
 * the object is gone, CONFLICT when another version or uid is there, or ERROR. */
typedef void (*berth_write_done_v1)(void* arg, berth_code code, berth_str text);

typedef struct berth_writes_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  berth_code (*bind)(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str node_name,
                     berth_write_done_v1 done, void* arg);                                             /* [binder] */
  /* JSON merge patch of the status subresource.                                                 [binder] [watch] */
  berth_code (*patch_pod_status)(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str merge_patch_json,
                                 berth_write_done_v1 done, void* arg);
  /* JSON merge patch of metadata.labels and metadata.annotations; other fields are BAD_ARGS.    [binder] [watch] */
  berth_code (*patch_pod_metadata)(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str merge_patch_json,
                                   berth_write_done_v1 done, void* arg);
  /* Deletes a pod gracefully, with a DisruptionTarget condition and an event of that text. A pod that is gone is OK.
   *                                                                                             [binder] [watch] */
  berth_code (*evict)(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str message,
                      berth_write_done_v1 done, void* arg);
  /* JSON merge patch of an object that is no pod; resource as in berth.objects/1, ns empty for cluster-wide ones. A
   * metadata.resourceVersion or metadata.uid in the patch is a precondition: another one in the cluster is a CONFLICT
   * and nothing changes.                                                                           [binder] */
  berth_code (*patch_object)(void* ctx, berth_str resource, berth_str ns, berth_str name, berth_str merge_patch_json,
                             berth_write_done_v1 done, void* arg);
} berth_writes_v1;

#endif
