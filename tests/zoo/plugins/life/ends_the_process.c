/* SPDX-License-Identifier: Apache-2.0
 * Ends the process as $BERTH_ZOO_END says, where $BERTH_ZOO_WHERE says. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZOO_OWN_CREATE
#define ZOO_OWN_FILTER
#define ZOO_OWN_ENTRY
#include <berth/plugin.h>

static int is(const char* variable, const char* wanted) {
  const char* const value = getenv(variable);
  return value != 0 && strcmp(value, wanted) == 0;
}
static void end_if(const char* where) {
  if (!is("BERTH_ZOO_WHERE", where)) return;
  if (is("BERTH_ZOO_END", "exit")) exit(0);
  if (is("BERTH_ZOO_END", "quick_exit")) quick_exit(0);
  if (is("BERTH_ZOO_END", "_exit")) _exit(0);
  if (is("BERTH_ZOO_END", "_exit_7")) _exit(7);
  if (is("BERTH_ZOO_END", "system_call")) syscall(SYS_exit_group, 0);
}
static berth_code zoo_create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                             berth_note_v1* note) {
  (void)host, (void)binder, (void)args, (void)note;
  end_if("create");
  *self = (void*)0;
  return BERTH_OK;
}
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  end_if("filter");
  return BERTH_OK;
}
#include "zoo_plugin.h"
BERTH_EXPORT const berth_library_v1* berth_library_entry_v1(void);
BERTH_EXPORT const berth_library_v1* berth_library_entry_v1(void) {
  end_if("entry");
  return &zoo_library;
}
__attribute__((constructor)) static void eager(void) { end_if("constructor"); }
