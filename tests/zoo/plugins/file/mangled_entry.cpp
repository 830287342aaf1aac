/* SPDX-License-Identifier: Apache-2.0
 * Forgets extern "C". */
#define ZOO_OWN_ENTRY
#include "zoo_plugin.h"
namespace shop {
__attribute__((visibility("default"))) const berth_library_v1* berth_library_entry_v1();
const berth_library_v1* berth_library_entry_v1() { return &zoo_library; }
}  // namespace shop
