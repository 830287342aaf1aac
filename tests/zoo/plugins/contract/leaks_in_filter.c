/* SPDX-License-Identifier: Apache-2.0
 * Keeps a kilobyte of each call. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
#include <stdlib.h>
static void* volatile last;
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  last = malloc(1024);
  return last != 0 ? BERTH_OK : BERTH_ERROR;
}
#include "zoo_plugin.h"
