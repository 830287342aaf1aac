/* SPDX-License-Identifier: Apache-2.0
 * Describes nothing. */
#define ZOO_OWN_ENTRY
#include "zoo_plugin.h"
const berth_library_v1* berth_library_entry_v1(void) {
  (void)zoo_library;
  return (const berth_library_v1*)0;
}
