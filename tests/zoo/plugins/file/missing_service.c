/* SPDX-License-Identifier: Apache-2.0
 * Cannot work without services that this host does not have. */
#define ZOO_SERVICES \
  { "berth.log/1", "berth.weather/1", "berth.draft.tides/3" }
#define ZOO_NOTE_TEXT                                                       \
  "plugin=" ZOO_NAME "\0version=" ZOO_VERSION                               \
  "\0points=berth.filter/1\0service=berth.log/1\0service=berth.weather/1\0" \
  "service=berth.draft.tides/3\0"
#include "zoo_plugin.h"
