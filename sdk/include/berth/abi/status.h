/* SPDX-License-Identifier: Apache-2.0
 * Status codes and the note in which a callee explains itself. */
#ifndef BERTH_ABI_STATUS_H
#define BERTH_ABI_STATUS_H

#include "types.h"

/* 0..6 have the numbers and the meaning of kube-scheduler's framework.Code; 16.. are berth's. */
enum {
  BERTH_OK = 0,
  BERTH_ERROR = 1,         /* something is broken: the pod's attempt ends, error back-off                 */
  BERTH_UNSCHEDULABLE = 2, /* not now; evicting pods may help                                             */
  BERTH_UNRESOLVABLE = 3,  /* not now; evicting pods cannot help                                          */
  BERTH_WAIT = 4,          /* permit only                                                                 */
  BERTH_SKIP = 5,          /* pre_filter, pre_score, pre_bind_check, bind: this plugin takes no part      */
  BERTH_PENDING = 6,       /* like UNSCHEDULABLE; a later hint of this plugin bypasses back-off           */
  BERTH_ASYNC = 16,        /* pre_bind, bind: complete() will be called                                   */
  BERTH_TOO_OLD = 17,      /* create: the host lacks something that is needed                             */
  BERTH_BAD_ARGS = 18,     /* create: args are well-formed but wrong                                      */
  BERTH_NOT_FOUND = 19,    /* services: no such object, pod or series                                     */
  BERTH_DENIED = 20,       /* services: not allowed for this instance or on this thread                   */
  BERTH_CONFLICT = 21      /* services: another version of the object is there                            */
};

/* Where the callee explains itself. Memory is the caller's. A rejection sets `reason`, or leaves it 0 and writes the
 * sentence into `text`; an error writes `text`. Text is cut at text_cap and not NUL-terminated; a callee that had more
 * to say sets text_len beyond text_cap. `text` may be NULL when text_cap is 0. */
typedef struct berth_note_v1 {
  uint32_t struct_size;
  berth_reason reason;
  char* text;
  uint64_t text_cap;
  uint64_t text_len;
} berth_note_v1;

#endif
