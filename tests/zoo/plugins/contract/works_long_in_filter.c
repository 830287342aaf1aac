/* SPDX-License-Identifier: Apache-2.0
 * Needs 40 milliseconds for a block. */
#define _GNU_SOURCE
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
#include <time.h>
static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  const int64_t end_ns = now_ns() + 40000000;
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  while (now_ns() < end_ns) {
  }
  return BERTH_OK;
}
#include "zoo_plugin.h"
