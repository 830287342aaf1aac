/* SPDX-License-Identifier: Apache-2.0
 * "berth.object_writes/1": API objects that are no pods, created, replaced, patched, deleted and read through the host's
 * client, with the object that the server answers with. Each write needs its rule in the note, or is DENIED: create
 * "rbac=create <group>/<plural>", update "rbac=update ...", patch "rbac=patch ...", remove "rbac=delete ...", read
 * "rbac=get ..."; a subresource belongs to the rule: "rbac=update resource.k8s.io/resourceclaims/status". */
#ifndef BERTH_EXT_OBJECT_WRITES_H
#define BERTH_EXT_OBJECT_WRITES_H

#include "../abi/status.h"

/* What a write is about. */
typedef struct berth_object_ref_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  berth_str resource;    /* as in berth.objects/1: "resource.k8s.io/v1/resourceclaims"           */
  berth_str subresource; /* "status", or empty                                                   */
  berth_str ns;          /* empty for cluster-wide objects                                       */
  berth_str name;        /* empty: create with the metadata.name or metadata.generateName given  */
} berth_object_ref_v1;

/* What the server answered. Texts live until the callback returns. */
typedef struct berth_object_answer_v1 {
  uint32_t struct_size;
  berth_code code; /* OK; CONFLICT: another version is there; NOT_FOUND; ERROR: everything else */
  berth_str text;  /* unless OK: the server's words                                             */
  berth_str json;  /* OK: the object as it is now; empty when the server answers without one    */
} berth_object_answer_v1;

/* Called exactly once for a write that was taken, from any thread, possibly before the call returns. */
typedef void (*berth_object_done_v1)(void* arg, const berth_object_answer_v1* answer);

enum { BERTH_PATCH_MERGE = 1, BERTH_PATCH_STRATEGIC = 2 };

/* All calls: OK when the write was taken, DENIED or BAD_ARGS (with `done` not called) otherwise. Pods are BAD_ARGS, but for
 * patches of their status. Nothing is retried after a conflict: the policy knows what its change was about. */
typedef struct berth_object_writes_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  berth_code (*create)(void* ctx, const berth_object_ref_v1* object, berth_str json, berth_object_done_v1 done,
                       void* arg);                                                              /* [cycle] [binder] */
  /* Replaces the object, or what its subresource covers. json's metadata.resourceVersion is the version that is replaced:
   * another one in the cluster is a CONFLICT.                                                   [cycle] [binder] */
  berth_code (*update)(void* ctx, const berth_object_ref_v1* object, berth_str json, berth_object_done_v1 done,
                       void* arg);
  /* kind: BERTH_PATCH_*. metadata.uid and metadata.resourceVersion in it are preconditions.    [cycle] [binder] */
  berth_code (*patch)(void* ctx, const berth_object_ref_v1* object, uint32_t kind, berth_str json,
                      berth_object_done_v1 done, void* arg);
  /* uid: a precondition, or empty. An object with finalizers stays until they are gone.        [cycle] [binder] */
  berth_code (*remove)(void* ctx, const berth_object_ref_v1* object, berth_str uid, berth_object_done_v1 done,
                       void* arg);
  /* What the server has, not what a watch has delivered.                                       [cycle] [binder] */
  berth_code (*read)(void* ctx, const berth_object_ref_v1* object, berth_object_done_v1 done, void* arg);
} berth_object_writes_v1;

#endif
