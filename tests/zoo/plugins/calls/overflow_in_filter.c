/* SPDX-License-Identifier: Apache-2.0
 * Uses up its stack while it judges nodes. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
static int deeper(volatile int* from) {
  volatile int room[4096];
  room[0] = *from + 1;
  if (room[0] < 0) return 0;
  return deeper(room) + room[1];
}
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  volatile int start = 0;
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  return deeper(&start) == 0 ? BERTH_OK : BERTH_ERROR;
}
#include "zoo_plugin.h"
