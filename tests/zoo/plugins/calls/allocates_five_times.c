/* SPDX-License-Identifier: Apache-2.0
 * Right, and its filter allocates five times in each call, 692 bytes in all, each time by another function. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#define ZOO_OWN_FILTER
#include "zoo_rows.h"
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  void* at_64 = 0;
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  free(realloc(malloc(100), 300));
  free(calloc(4, 25));
  free(aligned_alloc(64, 128));
  if (posix_memalign(&at_64, 64, 64) == 0) free(at_64);
  return BERTH_OK;
}
#include "zoo_plugin.h"
