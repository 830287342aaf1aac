/* SPDX-License-Identifier: Apache-2.0
 * Offers a point of a later host besides its filter: that is allowed. */
#define ZOO_NOTE_TEXT \
  "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0points=berth.draft.placement/0\0"
#define ZOO_POINTS                                                                      \
  {                                                                                     \
    {"berth.filter/1", &zoo_filter_ops}, { "berth.draft.placement/0", &zoo_filter_ops } \
  }
#include "zoo_plugin.h"
