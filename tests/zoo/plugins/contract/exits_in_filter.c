/* SPDX-License-Identifier: Apache-2.0
 * Ends the process as if all were well while it judges nodes. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
#include <stdlib.h>
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  exit(0);
}
#include "zoo_plugin.h"
