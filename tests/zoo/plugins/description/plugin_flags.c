/* SPDX-License-Identifier: Apache-2.0
 * Sets a flag of the plugin that has no meaning. */
#define ZOO_PLUGIN_FLAGS 8u
#include "zoo_plugin.h"
