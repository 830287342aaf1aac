/* SPDX-License-Identifier: Apache-2.0
 * Needs a shared library that is not installed. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
int zoo_absent_answer(void);
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)cycle, (void)block, (void)out, (void)note;
  return zoo_absent_answer() == 42 ? BERTH_OK : BERTH_ERROR;
}
#include "zoo_plugin.h"
