/* SPDX-License-Identifier: Apache-2.0
 * Puts the default actions of signals back while it is loaded, and crashes later. */
#define _GNU_SOURCE
#include <signal.h>
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  *(volatile int*)(uintptr_t)64 = 1;
  return BERTH_OK;
}
#include "zoo_plugin.h"
__attribute__((constructor)) static void eager(void) {
  signal(SIGSEGV, SIG_DFL);
  signal(SIGABRT, SIG_IGN);
}
