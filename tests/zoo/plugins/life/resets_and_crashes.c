/* SPDX-License-Identifier: Apache-2.0
 * Puts the default action of SIGSEGV back while it is loaded, and crashes at once. */
#define _GNU_SOURCE
#include <signal.h>

#include "zoo_plugin.h"
__attribute__((constructor)) static void eager(void) {
  signal(SIGSEGV, SIG_DFL);
  *(volatile int*)(uintptr_t)64 = 1;
}
