/* SPDX-License-Identifier: Apache-2.0
 * Writes to a place that is not there while it is being loaded. */
#include "zoo_plugin.h"
__attribute__((constructor)) static void eager(void) { *(volatile int*)(uintptr_t)64 = 1; }
