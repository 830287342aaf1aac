/* SPDX-License-Identifier: Apache-2.0
 * Scalar vocabulary of the ABI. Only <stdint.h> types cross the boundary; see RATIONALE.md for why.
 *
 * Conventions, valid for every header of the set:
 *   1. Strings   berth_str is UTF-8 with a length and no terminator. Static descriptor strings are NUL-terminated.
 *   2. Ownership Arguments are borrowed for the call. Out-structs, bitmaps, arrays and note buffers are the host's.
 *                Descriptors, ops tables, `self` and cycle state are the plugin's. Neither frees the other side's memory.
 *   3. Threads   Every function carries a tag: [load] start-up and shutdown, [cycle] one pod at a time, [worker] filter
 *                and score, possibly concurrent for different blocks, [binder] permit wait to post-bind, [watch] cluster
 *                events and queue, [any].
 *   4. Errors    A berth_code; free text goes into the caller's note buffer.
 *   5. Units     cpu is milli-cores, memory and storage are bytes, time is nanoseconds unless the name says otherwise.
 *   6. Growth    Structs start with struct_size, set by the side that allocates; the other side touches only what BERTH_HAS
 *                proves. Fields are appended only. Types marked "closed" never grow.
 *   7. Bitmaps   Arrays of uint64_t; row or slot i is bit (i & 63) of word (i >> 6). */
#ifndef BERTH_ABI_TYPES_H
#define BERTH_ABI_TYPES_H

#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define BERTH_EXPORT __attribute__((visibility("default")))
#else
#define BERTH_EXPORT
#endif

/* True when the side that allocated *p was built with a header that already had field f. */
#define BERTH_HAS(p, f) ((p)->struct_size >= (uint32_t)((const char*)(&(p)->f + 1) - (const char*)(p)))

typedef struct berth_str { /* borrowed text: len bytes of UTF-8 at ptr */
  const char* ptr;
  uint64_t len;
} berth_str; /* closed */

typedef uint32_t berth_id;     /* interned string; 0 = absent; equal ids iff equal strings; order means nothing */
typedef uint32_t berth_slot;   /* dense number of a node, stable while the node exists, reused afterwards        */
typedef uint32_t berth_code;   /* BERTH_OK ...                                                                   */
typedef uint32_t berth_reason; /* 1..N index the plugin's reason table; others come from berth.reasons/1; 0 none */

#define BERTH_ID_EMPTY 1u /* the id of the empty string, in every process: present but empty, as opposed to 0 */
#define BERTH_NO_COLUMN UINT32_MAX  /* the host does not know such a column */
#define BERTH_NO_REQUEST UINT32_MAX /* no such index into the requests of a pod */
#define BERTH_NO_SLOT UINT32_MAX    /* no node */

#endif
