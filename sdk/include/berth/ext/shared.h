/* SPDX-License-Identifier: Apache-2.0
 * "berth.shared/1": one value for all instances of a plugin, whatever their profiles: caches of what does not depend on
 * arguments, and tables that must know of every pod. */
#ifndef BERTH_EXT_SHARED_H
#define BERTH_EXT_SHARED_H

#include "../abi/status.h"

typedef struct berth_shared_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* The value under that key, made by the first instance of the plugin that asks; NULL when `make` returned NULL. It is
   * destroyed once, after the last instance of the plugin. Plugins do not see each other's values. `make` may declare
   * watches of the instance that calls; other instances share watches of equal declarations.                       [load] */
  void* (*get)(void* ctx, berth_str key, void* (*make)(void* arg), void* arg, void (*destroy)(void* value));
} berth_shared_v1;

#endif
