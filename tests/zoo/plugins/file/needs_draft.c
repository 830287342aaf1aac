/* SPDX-License-Identifier: Apache-2.0
 * Offers a point that is a draft, and was built for a minor that had it, maybe in another form. */
#define BERTH_MINOR_REQUIRED 0u
#include <berth/plugin.h>
#undef BERTH_ABI_MINOR
#define BERTH_ABI_MINOR 5u
#define ZOO_NOTE_TEXT \
  "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0points=berth.draft.domains/0\0"
#include "zoo_plugin.h"
