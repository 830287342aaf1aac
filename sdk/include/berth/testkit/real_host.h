/* SPDX-License-Identifier: Apache-2.0
 * berth itself as a library, libberth_real_host: for tests of several plugins together, in any language that calls C.
 *
 * What decides is the host of `berth simulate`: configuration, loader, queue, cache, cycle, preemption and binding are the
 * real ones; the API server is a cluster in memory, with stand-ins for the controllers of volumes and claims, and time is a
 * clock that moves when it is told to. Plugins are files, named by the configuration as for `berth run`.
 *
 * Not a part of the plugin ABI: a test is built with the library of the package that it runs with.
 * Threads: a host belongs to one thread at a time; hosts do not know of each other.
 * Errors:  a function that can fail takes `error`, which may be NULL. It gets a text that says what is wrong and where, of
 *          the caller's: berth_real_host_free_text(). Texts that are passed are UTF-8 and end with 0.
 * In C++: <berth/testkit/real_host.hpp>. */
#ifndef BERTH_TESTKIT_REAL_HOST_H
#define BERTH_TESTKIT_REAL_HOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scheduler on a cluster in memory. */
typedef struct berth_real_host berth_real_host;

typedef struct berth_real_host_options {
  uint32_t struct_size;
  uint32_t reserved;         /* 0 */
  const char* configuration; /* KubeSchedulerConfiguration, YAML or JSON; NULL: what `berth config defaults` prints */
  const char* plugin_directory; /* berth's own plugin files and others; NULL: the configuration's, or the usual one */
  int64_t wall_ns;              /* what time it is; 0: 2026-01-01T00:00:00Z */
} berth_real_host_options;

/* One attempt to place a pod. Texts are empty where there is nothing to say, never NULL. */
typedef struct berth_real_host_decision {
  uint32_t struct_size;
  uint32_t evaluated_nodes;
  uint32_t feasible_nodes;
  uint32_t victim_count;
  int64_t wall_ns;                 /* when it was made, by the host's clock */
  const char* pod;                 /* "namespace/name" */
  const char* node;                /* the chosen one; empty: none */
  const char* message;             /* why there is none, as in the pod's condition */
  const char* post_filter_message; /* what preemption and other post-filter plugins say */
  const char* nominated_node;
  const char* const* victims; /* "namespace/name", sorted */
  const char* json;           /* all of it and more (scores, who rejected which node), as a record of
                                       `berth simulate --decisions` */
} berth_real_host_decision;

/* NULL: it cannot be made. The plugins of the configuration are loaded. */
berth_real_host* berth_real_host_new(const berth_real_host_options* options, char** error);
void berth_real_host_free(berth_real_host* host); /* NULL is allowed */
void berth_real_host_free_text(char* text);       /* NULL is allowed */

/* Objects as `kubectl apply -f` takes them, of any kind that scheduling knows; each is added, or replaces the one of that
 * kind, namespace and name. 0: all are there; -1: something is wrong with one, and nothing has changed. */
int berth_real_host_apply(berth_real_host* host, const char* manifests, char** error);
/* resource: "pods", "nodes", "persistentvolumeclaims" …; ns is "" for what has none. 0: it is gone; -1: there was none. */
int berth_real_host_remove(berth_real_host* host, const char* resource, const char* ns, const char* name);

/* Moves the clock, and at each moment decides about every pod that may be tried then, and carries that out. 0: what may be
 * decided now. 0: done; -1: an exception, which is the text. */
int berth_real_host_advance(berth_real_host* host, int64_t duration_ns, char** error);

/* Every decision since the host was made or berth_real_host_forget_decisions(), in order: at most 1,000,000 are kept. The
 * structs live until then. */
uint64_t berth_real_host_decision_count(const berth_real_host* host);
/* NULL beyond the last. Until berth_real_host_forget_decisions(). */
const berth_real_host_decision* berth_real_host_decision_at(const berth_real_host* host, uint64_t index);
/* Those that were read are needed no more. */
void berth_real_host_forget_decisions(berth_real_host* host);

/* The node that the pod is bound to now, "" where it waits; NULL: there is no such pod. Until the next call. */
const char* berth_real_host_node_of(berth_real_host* host, const char* ns, const char* name);

#ifdef __cplusplus
}
#endif
#endif
