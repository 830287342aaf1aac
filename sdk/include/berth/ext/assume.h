/* SPDX-License-Identifier: Apache-2.0
 * "berth.assume/1": behave as if a watched object were already written. The overlay wins in get() and each() until
 * the watch delivers another version of the object, or forget() is called. */
#ifndef BERTH_EXT_ASSUME_H
#define BERTH_EXT_ASSUME_H

#include "objects.h"

typedef struct berth_assume_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* Replaces the projected values of an existing object. `version` is the one that was read: another one in the store
   * answers UNSCHEDULABLE ("out of sync") and nothing changes. NOT_FOUND without the object.   [cycle] [binder] */
  berth_code (*assume)(void* ctx, uint32_t watch, berth_str ns, berth_str name, uint64_t version,
                       const berth_value_v1* values, uint32_t value_count, berth_note_v1* note);
  void (*forget)(void* ctx, uint32_t watch, berth_str ns, berth_str name); /* [any] */
  /* Like get() of berth.objects/1, but what the cluster says, whatever is assumed.                         [any] */
  berth_code (*actual)(void* ctx, uint32_t watch, berth_str ns, berth_str name,
                       void (*use)(void* arg, const berth_object_v1* object), void* arg);
  /* The whole object as a write answered with it (berth.object_writes/1). It is what get() and each() show until the
   * watch delivers that metadata.resourceVersion or a later one, or forget() is called; earlier ones that arrive meanwhile
   * change nothing. An object that is older than what is shown answers UNSCHEDULABLE ("out of sync"), one that the watch
   * does not know NOT_FOUND. Waiting pods hear of it as of an update that the watch delivered.  [cycle] [binder] */
  berth_code (*assume_written)(void* ctx, uint32_t watch, berth_str json, berth_note_v1* note);
} berth_assume_v1;

#endif
