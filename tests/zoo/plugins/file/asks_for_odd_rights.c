/* SPDX-License-Identifier: Apache-2.0
 * Asks for rights in words that would mean more than they say. */
#define ZOO_NOTE_TEXT                           \
  "plugin=" ZOO_NAME "\0version=" ZOO_VERSION   \
  "\0points=berth.filter/1\0watch=everything\0" \
  "rbac=create core/pods]\n  - verbs: ['*'\0"
#include "zoo_plugin.h"
