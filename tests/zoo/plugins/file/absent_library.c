/* SPDX-License-Identifier: Apache-2.0
 * The library that missing_library.c is linked with; it is not there when the plugin is loaded. */
__attribute__((visibility("default"))) int zoo_absent_answer(void);
int zoo_absent_answer(void) { return 42; }
