/* SPDX-License-Identifier: Apache-2.0
 * Never comes back from being loaded. */
#include <unistd.h>
#include "zoo_plugin.h"
__attribute__((constructor)) static void eager(void) {
  for (;;) pause();
}
