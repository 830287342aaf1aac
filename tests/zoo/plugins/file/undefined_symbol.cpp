/* SPDX-License-Identifier: Apache-2.0
 * Uses a class of a library that it is not linked with. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
namespace racks {
class Registry {
 public:
  static int find(int rack);
};
}  // namespace racks
static berth_code zoo_filter(void*, const berth_cycle_v1*, const berth_node_block_v1*, berth_filter_out_v1*,
                             berth_note_v1*) {
  return racks::Registry::find(1) == 0 ? BERTH_OK : BERTH_ERROR;
}
#include "zoo_plugin.h"
