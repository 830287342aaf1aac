/* SPDX-License-Identifier: Apache-2.0
 * Throws over the boundary when it judges nodes. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
#include <stdexcept>
static berth_code zoo_filter(void*, const berth_cycle_v1*, const berth_node_block_v1*, berth_filter_out_v1*,
                             berth_note_v1*) {
  throw std::runtime_error("no racks today");
}
#include "zoo_plugin.h"
