/* SPDX-License-Identifier: Apache-2.0
 * Has a schema that lets everything through, and reads none of it. */
#define ZOO_ARGS_SCHEMA "{\"type\": \"object\"}"
#include "zoo_plugin.h"
