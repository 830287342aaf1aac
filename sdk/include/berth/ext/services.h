/* SPDX-License-Identifier: Apache-2.0
 * What the host does for plugins. Resolve a table once in create(): host->service(host->ctx, "berth.log/1"). All
 * functions take host->ctx first: attribution, limits and permission come from it. Tables live as long as the process.
 * Never call the host with a lock of your own held. */
#ifndef BERTH_EXT_SERVICES_H
#define BERTH_EXT_SERVICES_H

#include "cycle.h"
#include "labels.h"
#include "objects.h"

enum {
  BERTH_LOG_ERROR = 0,
  BERTH_LOG_WARN = 1,
  BERTH_LOG_INFO = 2,
  BERTH_LOG_DEBUG = 3,
  BERTH_LOG_TRACE = 4,
  BERTH_LOG_HOST_MISBEHAVES = 16
};
typedef struct berth_kv_v1 { /* closed */
  berth_str key;
  berth_str value;
} berth_kv_v1;
typedef struct berth_log_v1 { /* "berth.log/1"; rate-limited per instance and message */
  uint32_t struct_size;
  uint32_t reserved;
  uint32_t (*enabled)(void* ctx, uint32_t severity); /* ask first: disabled logging costs nothing               [any] */
  void (*write)(void* ctx, uint32_t severity, berth_str message, const berth_kv_v1* fields, uint32_t count); /* [any] */
} berth_log_v1;

enum { BERTH_METRIC_COUNTER = 1, BERTH_METRIC_GAUGE = 2, BERTH_METRIC_HISTOGRAM = 3 };
typedef struct berth_metric_spec_v1 {
  uint32_t struct_size;
  uint32_t kind;
  /* Exported as `berth_plugin_<plugin>_<name>`; one that begins with "scheduler_", as a metric of kube-scheduler, as it is:
   * BAD_ARGS with a sentence if berth itself or another plugin has that name. */
  berth_str name;
  berth_str help;
  const berth_str* label_names;
  const double* buckets;
  uint32_t label_count;
  uint32_t bucket_count;
  uint32_t max_series; /* further label combinations are folded into "other"; 0 = 100 */
  uint32_t reserved;
} berth_metric_spec_v1;
typedef struct berth_metrics_v1 { /* "berth.metrics/1" */
  uint32_t struct_size;
  uint32_t reserved;
  berth_code (*define)(void* ctx, const berth_metric_spec_v1* spec, uint32_t* family, berth_note_v1* note);     /* [load] */
  /* An empty value of a label "profile" stands for the scheduler name of the instance's profile.                     [any] */
  berth_code (*series)(void* ctx, uint32_t family, const berth_str* labels, uint32_t count, uint32_t* series);
  void (*record)(void* ctx, uint32_t series, double value); /* adds, sets or observes, as the kind says           [any] */
} berth_metrics_v1;

enum { BERTH_EVENT_NORMAL = 0, BERTH_EVENT_WARNING = 1 };
typedef struct berth_event_spec_v1 {
  uint32_t struct_size;
  uint32_t type; /* BERTH_EVENT_* */
  berth_str regarding_kind; /* "Pod", "Node", ... */
  berth_str regarding_ns;
  berth_str regarding_name;
  berth_str regarding_uid;
  berth_str reason; /* CamelCase */
  berth_str action;
  berth_str note; /* cut at 1024 bytes */
} berth_event_spec_v1;
typedef struct berth_events_v1 { /* "berth.events/1"; aggregated and rate-limited; not from [worker] */
  uint32_t struct_size;
  uint32_t reserved;
  berth_code (*record)(void* ctx, const berth_event_spec_v1* event); /* OK, BAD_ARGS, DENIED  [cycle] [binder] [watch] */
} berth_events_v1;

typedef struct berth_clock_v1 { /* "berth.clock/1"; virtual in tests and simulations */
  uint32_t struct_size;
  uint32_t reserved;
  int64_t (*monotonic_ns)(void* ctx); /* [any] */
  int64_t (*wall_ns)(void* ctx);      /* [any] */
} berth_clock_v1;

typedef struct berth_intern_v1 { /* "berth.intern/1"; ids that the host shows live for the call or the cycle, unless pinned */
  uint32_t struct_size;
  uint32_t reserved;
  /* The id lives as long as the instance. 0, and a line in the log, for a text beyond the 65,536th of the instance after
   * create(), and where the host has no room: texts without end, names of pods say, are for intern_for_cycle().
   *                                                                                     [load] [cycle] [worker] [watch] */
  berth_id (*intern)(void* ctx, berth_str text);
  void (*text)(void* ctx, berth_id id, berth_str* out); /* *out is valid while the id is; empty for 0               [any] */
  void (*pin)(void* ctx, berth_id id);                                                                           /* [any] */
  void (*unpin)(void* ctx, berth_id id);                                                                         /* [any] */
  /* The id lives for the call or the cycle, unless it is pinned.                        [load] [cycle] [worker] [watch] */
  berth_id (*intern_for_cycle)(void* ctx, berth_str text);
} berth_intern_v1;

typedef struct berth_reasons_v1 { /* "berth.reasons/1": one id for one or several sentences, lives for the cycle */
  uint32_t struct_size;
  uint32_t reserved;
  berth_reason (*make)(void* ctx, const berth_str* texts, uint32_t count); /* equal lists, equal ids    [cycle] [worker] */
} berth_reasons_v1;

typedef struct berth_cycle_services_v1 { /* "berth.cycle/1" */
  uint32_t struct_size;
  uint32_t reserved;
  uint32_t (*cancelled)(void* ctx, const berth_cycle_v1* cycle);                                     /* [cycle] [worker] */
  /* Zeroed memory that is freed with the cycle; never NULL. align: power of two, at most 64.                    [cycle] */
  void* (*alloc)(void* ctx, const berth_cycle_v1* cycle, uint64_t bytes, uint64_t align);
} berth_cycle_services_v1;

/* "berth.executor/1"; tasks run as [binder]. While destroy() runs, and after it, no task of the instance is under way or begins:
 * those that wait are dropped, and the host waits for those that run. */
typedef struct berth_executor_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  berth_code (*submit)(void* ctx, void (*task)(void* arg), void* arg);                                    /* [any] */
  /* Calls body(arg, i) for each i in [0, count), possibly concurrently; returns when all are done.     [cycle] [binder] */
  void (*parallel_for)(void* ctx, uint32_t count, void (*body)(void* arg, uint32_t i), void* arg);
  /* Runs task delay_ms from now, on the virtual clock where there is one, and every period_ms after that where it is not 0
   * (then [load] only). It may not run any more when the host shuts down. *handle is for cancel().              [any] */
  berth_code (*start)(void* ctx, uint32_t delay_ms, uint32_t period_ms, void (*task)(void* arg), void* arg,
                      uint64_t* handle);
  /* OK: the task does not begin any more. NOT_FOUND: there is no such task, or it has begun and is not periodic; a call that is
   * under way is not waited for.                                                                             [any] */
  berth_code (*cancel)(void* ctx, uint64_t handle);
} berth_executor_v1;

typedef struct berth_queue_control_v1 { /* "berth.queue_control/1" */
  uint32_t struct_size;
  uint32_t reserved;
  /* Moves a waiting pod to the active queue without regard to back-off. Takes effect after the current call: OK when the
   * request was taken. Not from [watch] calls of the queue (pre_enqueue, key, less, hint): DENIED.     [cycle] [binder] */
  berth_code (*activate)(void* ctx, berth_str uid);
  berth_code (*activate_class)(void* ctx, uint64_t pod_class); /* likewise, for all waiting pods of a class          */
} berth_queue_control_v1;

typedef struct berth_epoch_v1 { /* "berth.epoch/1": announces that answers may have changed */
  uint32_t struct_size;
  uint32_t reserved;
  void (*bump)(void* ctx); /* verdicts of this instance older than now are not reused            [any] */
} berth_epoch_v1;

#endif
