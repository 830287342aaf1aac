/* SPDX-License-Identifier: Apache-2.0
 * A name that would write into the operator's terminal. */
#define ZOO_NAME "zoo.example.com/\033[31mRed\n"
#include "zoo_plugin.h"
