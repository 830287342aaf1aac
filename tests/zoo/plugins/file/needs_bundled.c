/* SPDX-License-Identifier: Apache-2.0
 * Needs a library that lies in the same folder. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "zoo_plugin.h"
int zoo_bundled(void);
__attribute__((constructor)) static void ask(void) {
  setenv("BERTH_ZOO_RAN", zoo_bundled() == 42 ? "bundled" : "wrong", 1);
}
