/* SPDX-License-Identifier: Apache-2.0
 * "berth.debug_pages/1": what a plugin knows, for people: a page below /debug/, where the host's own pages are. */
#ifndef BERTH_EXT_DEBUG_PAGES_H
#define BERTH_EXT_DEBUG_PAGES_H

#include "../abi/status.h"

/* Takes a piece of the page, in order. Anything but OK: the page is too long (64 MiB), or memory is short; write no more. */
typedef berth_code (*berth_page_append_v1)(void* out, berth_str text);

typedef struct berth_debug_pages_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Serves /debug/NAME to those who may read the host's debug pages. name: a lower-case letter, then at most 62 of a-z, 0-9
   * and "-". `write` appends one JSON value; it is called for each request, by any thread, several at a time, from the end
   * of create() to destroy(), and must take no longer than such a page is worth. ERROR: nothing is shown but the note.
   * The page of the plugin's first instance is served; later instances are answered OK and not asked. CONFLICT when the
   * host or another plugin has a page of that name, BAD_ARGS for no such name.                                    [load] */
  berth_code (*offer)(void* ctx, berth_str name, berth_code (*write)(void* arg, berth_page_append_v1 append, void* out,
                                                                     berth_note_v1* note), void* arg);
} berth_debug_pages_v1;

#endif
