/* SPDX-License-Identifier: Apache-2.0
 * Exports another function than the entry. */
#define ZOO_ENTRY my_plugin_entry
#include "zoo_plugin.h"
