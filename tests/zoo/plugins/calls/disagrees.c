/* SPDX-License-Identifier: Apache-2.0
 * Note and descriptor come from different builds. */
#define ZOO_NOTE_TEXT \
  "plugin=" ZOO_NAME "\0version=1.1.0\0points=berth.filter/1\0points=berth.score/1\0service=berth.log/1\0"
#include "zoo_plugin.h"
