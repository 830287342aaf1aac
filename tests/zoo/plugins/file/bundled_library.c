/* SPDX-License-Identifier: Apache-2.0
 * A library that a plugin brings along. */
int zoo_bundled(void);
int zoo_bundled(void) { return 42; }
