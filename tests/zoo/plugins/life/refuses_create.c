/* SPDX-License-Identifier: Apache-2.0
 * Does not like its args. */
#define ZOO_OWN_CREATE
#include <berth/plugin.h>
#include <string.h>
static berth_code zoo_create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                             berth_note_v1* note) {
  static const char text[] = "racks must be a list";
  const uint64_t count = sizeof text - 1 < note->text_cap ? sizeof text - 1 : note->text_cap;
  (void)host, (void)binder, (void)args, (void)self;
  memcpy(note->text, text, count);
  note->text_len = sizeof text - 1;
  return BERTH_BAD_ARGS;
}
#include "zoo_plugin.h"
