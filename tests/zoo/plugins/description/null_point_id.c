/* SPDX-License-Identifier: Apache-2.0
 * A table of points with an entry that has no id, and one that has no functions. */
#define ZOO_POINTS                                \
  {                                               \
    {"berth.filter/1", 0}, { 0, &zoo_filter_ops } \
  }
#include "zoo_plugin.h"
