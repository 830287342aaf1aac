/* SPDX-License-Identifier: Apache-2.0
 * A library that a plugin brings along. */
int zoo_beside(void);
int zoo_beside(void) { return 42; }
