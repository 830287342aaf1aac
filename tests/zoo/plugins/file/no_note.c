/* SPDX-License-Identifier: Apache-2.0
 * A shared library that says nothing of berth. */
#define ZOO_NO_NOTE
#include "zoo_plugin.h"
