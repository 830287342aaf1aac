/* SPDX-License-Identifier: Apache-2.0
 * Needs a library that lies in the same folder. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "zoo_plugin.h"
int zoo_beside(void);
__attribute__((constructor)) static void ask(void) {
  setenv("BERTH_ZOO_RAN", zoo_beside() == 42 ? "beside" : "wrong", 1);
}
