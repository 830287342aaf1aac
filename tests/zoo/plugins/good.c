/* SPDX-License-Identifier: Apache-2.0
 * Nothing is wrong with this one. */
#include "zoo_plugin.h"
