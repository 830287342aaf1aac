/* SPDX-License-Identifier: Apache-2.0
 * Looks at the labels of pods, and has not asked for them. */
#define ZOO_OWN_FILTER
#define ZOO_DEPS BERTH_DEP_NODE_STATIC
#include <berth/plugin.h>
static volatile berth_id seen;
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)block, (void)out, (void)note;
  for (uint32_t i = 0; i < cycle->pod->label_count; ++i) seen = cycle->pod->labels[i].key;
  return BERTH_OK;
}
#include "zoo_plugin.h"
