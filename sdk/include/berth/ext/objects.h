/* SPDX-License-Identifier: Apache-2.0
 * "berth.objects/1": API objects as projected fields. Declared in create(), read by callback, never held. */
#ifndef BERTH_EXT_OBJECTS_H
#define BERTH_EXT_OBJECTS_H

#include "../abi/status.h"

enum {
  BERTH_FIELD_STR = 1,
  BERTH_FIELD_INT = 2,
  BERTH_FIELD_BOOL = 3,     /* number: 0 or 1                                 */
  BERTH_FIELD_QUANTITY = 4, /* number: value rounded up; text: as written      */
  BERTH_FIELD_JSON = 5,     /* text: canonical JSON of the value               */
  BERTH_FIELD_MILLI = 6     /* number: a quantity in thousandths, rounded up; text: as written */
};
typedef struct berth_field_v1 { /* closed */
  berth_str path; /* "spec.selector", "metadata.labels" */
  uint32_t type;
  uint32_t reserved; /* 0 */
} berth_field_v1;

/* berth_value_v1.type where something is there that is not of the field's type, or too large: it counts as absent. */
#define BERTH_VALUE_UNREADABLE UINT32_MAX

typedef struct berth_value_v1 { /* closed */
  uint32_t type; /* the field's; 0 when absent, or BERTH_VALUE_UNREADABLE. Ignored by assume() */
  uint32_t present;
  int64_t number;
  berth_str text;
} berth_value_v1;

typedef struct berth_object_v1 {
  uint32_t struct_size;
  uint32_t value_count;
  berth_str ns;
  berth_str name;
  berth_str uid;
  uint64_t version;             /* host's counter, not resourceVersion            */
  const berth_value_v1* values; /* one per field of the watch, same order         */
} berth_object_v1;

typedef struct berth_objects_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* resource: "core/v1/services", "apps/v1/replicasets", "example.com/v1/widgets". BAD_ARGS with a sentence for what cannot be
   * watched: pods (berth.pods/1) and nodes (columns), no resource at all, one that the note lacks as watch=.     [load] */
  berth_code (*watch)(void* ctx, berth_str resource, const berth_field_v1* fields, uint32_t field_count,
                      uint32_t* watch, berth_note_v1* note);
  /* Calls use once, or answers NOT_FOUND.                                                                        [any] */
  berth_code (*get)(void* ctx, uint32_t watch, berth_str ns, berth_str name,
                    void (*use)(void* arg, const berth_object_v1* object), void* arg);
  /* Visits the objects of a namespace (empty: all), in namespace/name order, until visit returns 0.             [any] */
  void (*each)(void* ctx, uint32_t watch, berth_str ns, uint32_t (*visit)(void* arg, const berth_object_v1* object),
               void* arg);
  uint64_t (*epoch)(void* ctx, uint32_t watch); /* grows with every change                                       [any] */
  /* For indexes that follow a watch: visits each object that changed after `since`, once, as it is now; `object` is NULL
   * for one that is gone. `since` is what the last call returned, 0 at first. When too much has changed for the host to
   * remember, the first visit has neither object nor name: forget everything, all objects follow. A change is also an
   * assumption of berth.assume/1 and its end. Not from visit.                                              [any] */
  uint64_t (*changes)(void* ctx, uint32_t watch, uint64_t since,
                      void (*visit)(void* arg, berth_str ns, berth_str name, const berth_object_v1* object), void* arg);
} berth_objects_v1;

#endif
