// SPDX-License-Identifier: Apache-2.0
// A library with every table that the dynamic linker reads, and without code that it runs: what dies while a changed copy
// of it is loaded is the dynamic linker.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN __attribute__((visibility("default")))

static __thread int per_thread = 7;
SEEN __thread int per_thread_seen = 8;
static int numbers[4] = {1, 2, 3, 4};
int* const pointers[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3], &numbers[0], &numbers[1]};
static int bytes_without_content[2000];

SEEN int berth_library_entry_v1(void);
SEEN int another(const char* text);
extern int absent(void) __attribute__((weak));

SEEN int berth_library_entry_v1(void) { return *pointers[2] + per_thread++ + per_thread_seen; }
SEEN int another(const char* text) {
  bytes_without_content[7] = (int)strlen(text);
  puts(text);
  return absent ? absent() : bytes_without_content[getenv("X") != NULL];
}
