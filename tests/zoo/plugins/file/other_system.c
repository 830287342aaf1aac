/* SPDX-License-Identifier: Apache-2.0
 * A plugin, but of another program. */
#define ZOO_NO_NOTE
#define ZOO_ENTRY clap_entry
#include "zoo_plugin.h"
