/* SPDX-License-Identifier: Apache-2.0
 * Throws instead of describing itself. */
#define ZOO_OWN_ENTRY
#include <stdexcept>
#include "zoo_plugin.h"
extern "C" const berth_library_v1* berth_library_entry_v1(void) {
  if (zoo_library.plugin_count != 0) throw std::runtime_error("no racks today");
  return &zoo_library;
}
