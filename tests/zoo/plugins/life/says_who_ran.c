/* SPDX-License-Identifier: Apache-2.0
 * Leaves its mark in the environment when it is loaded: which of several files was it? */
#define _GNU_SOURCE
#include <stdlib.h>

#include "zoo_plugin.h"
#ifndef ZOO_MARK
#define ZOO_MARK "a"
#endif
__attribute__((constructor)) static void leave_a_mark(void) { setenv("BERTH_ZOO_RAN", ZOO_MARK, 1); }
