/* SPDX-License-Identifier: Apache-2.0
 * The entry point: how a library describes its plugins, and what the host hands to create().
 *
 * A library exports one symbol, berth_library_entry_v1, which returns static data and has no side effect. In addition,
 * the file carries one ELF note per plugin (section .note.berth, owner "berth", see note.h), which the host judges before
 * it maps the file. Note and descriptor must agree. */
#ifndef BERTH_ABI_HOST_H
#define BERTH_ABI_HOST_H

#include "status.h"
#include "types.h"
#include "version.h"

/* What an instance knows of its host. Valid until destroy() returns.
 * `ctx` identifies the instance; it is the first argument of every service function. */
typedef struct berth_host_v1 {
  uint32_t struct_size;
  uint16_t abi_minor;  /* what this host implements */
  uint16_t data_model; /* BERTH_DATA_MODEL of the host */
  void* ctx;
  berth_str product;                                    /* "berth 0.1.0"                                            */
  const void* (*service)(void* ctx, const char* id);    /* table for "berth.log/1", or NULL; process lifetime  [any] */
  int64_t score_max; /* what a score may be at most, after normalisation: 100, and 10 in the mode of old configurations */
} berth_host_v1;

/* Lives during create() only: the plugin says what it wants to see. Everything else is absent from blocks and pods. */
typedef struct berth_binder_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  void* ctx;
  /* Index into berth_node_block_v1.columns, or BERTH_NO_COLUMN when the host does not know `kind`. `key` is a resource,
   * label or annotation name as the kind demands, else empty. A name that no node has is a valid column of zeros. [load] */
  uint32_t (*column)(void* ctx, uint32_t kind, berth_str key);
  uint32_t (*request)(void* ctx, berth_str resource); /* index into berth_pod_v1.requests                     [load] */
  /* BERTH_POD_* bits, added to earlier ones. Answers those of `groups` that pods will show: all that the host knows. [load] */
  uint64_t (*pod_fields)(void* ctx, uint64_t groups);
  void (*pod_label)(void* ctx, berth_str key);        /* one label instead of all labels                      [load] */
} berth_binder_v1;

/* One extension point: ops is the table that the id names, e.g. "berth.filter/1" -> berth_filter_ops_v1. Closed. */
typedef struct berth_point_v1 {
  const char* id;
  const void* ops;
} berth_point_v1;

/* A rejection sentence, worded for people and counted over nodes, and a short machine code. Closed. */
typedef struct berth_reason_text_v1 {
  const char* text;
  const char* code;
} berth_reason_text_v1;

/* What a verdict or score depends on, beyond the requested pod fields' values being equal.
 * Behavioural: an unknown bit is refused. */
enum {
  BERTH_DEP_POD_SPEC = 1u << 0,     /* requested pod fields                                                     */
  BERTH_DEP_POD_IDENTITY = 1u << 1, /* the pod's name or uid                                                    */
  BERTH_DEP_NODE_STATIC = 1u << 2,  /* labels, taints, allocatable, images, features of this node               */
  BERTH_DEP_NODE_USAGE = 1u << 3,   /* pods on this node                                                        */
  BERTH_DEP_OTHER_NODES = 1u << 4,  /* anything on other nodes                                                  */
  BERTH_DEP_OBJECTS = 1u << 5,      /* watched objects                                                          */
  BERTH_DEP_CLOCK = 1u << 6,        /* time                                                                     */
  BERTH_DEP_EXTERNAL = 1u << 7,     /* anything else                                                            */
  /* With OBJECTS, CLOCK or EXTERNAL: every change of those is announced, through berth.epoch/1, or by being a change of one of
   * the instance's watches. Answers are then reused in between; without it these three end reuse.               */
  BERTH_DEP_ANNOUNCED = 1u << 8
};
#define BERTH_DEP_EVERYTHING UINT32_MAX /* the honest default */

typedef struct berth_plugin_v1 {
  uint32_t struct_size;
  uint32_t flags;          /* reserved, 0                                                                       */
  /* What a profile lists: "example.com/RackSpread", with a domain of the author's. Names without one are kube-scheduler's, and
   * are for what stands in for its plugins; domains under k8s.io and kubernetes.io are Kubernetes'.             */
  const char* name;
  const char* version;     /* semver of the plugin                                                              */
  const char* summary;     /* one sentence for `berth plugin inspect`                                           */
  const char* args_schema; /* JSON Schema 2020-12 subset, or NULL: args are passed unchecked                    */
  const berth_point_v1* points;
  const berth_reason_text_v1* reasons; /* entry 0 unused; a filter has some, or lists berth.reasons/1 below      */
  const char* const* services;         /* service ids the plugin cannot work without                            */
  uint32_t point_count;
  uint32_t reason_count;
  uint32_t service_count;
  uint32_t deps; /* BERTH_DEP_*                                                                                 */
  /* Called once per use in a profile, possibly several times in a process: no globals. args_json is valid JSON, the
   * args of the profile with the schema's defaults filled in, or empty when there are none. May block on services that
   * say so. Anything but OK stops the start of the process with the note's text.                              [load] */
  berth_code (*create)(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args_json, void** self,
                       berth_note_v1* note);
  void (*destroy)(void* self); /* [load] */
} berth_plugin_v1;

typedef struct berth_library_v1 {
  uint32_t struct_size;
  uint16_t abi_minor_built;    /* BERTH_ABI_MINOR of the header it was compiled with */
  uint16_t abi_minor_required; /* oldest host minor it can work with: the most that a note says */
  uint32_t plugin_count;
  uint32_t reserved;
  const berth_plugin_v1* const* plugins;
} berth_library_v1;

#ifdef __cplusplus
extern "C" {
#endif
/* The only exported symbol of a plugin library. Returns static data. [load] */
BERTH_EXPORT const berth_library_v1* berth_library_entry_v1(void);
#ifdef __cplusplus
}
#endif

#define BERTH_ENTRY_SYMBOL "berth_library_entry_v1" /* what a host looks up in a file */

#endif
