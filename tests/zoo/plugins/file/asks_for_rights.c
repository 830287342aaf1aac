/* SPDX-License-Identifier: Apache-2.0
 * Watches objects and binds pods, and says so. */
#define ZOO_NOTE_TEXT                                 \
  "plugin=" ZOO_NAME "\0version=" ZOO_VERSION         \
  "\0points=berth.filter/1\0watch=core/v1/services\0" \
  "watch=apps/v1/replicasets\0rbac=create core/pods/binding\0"
#include "zoo_plugin.h"
