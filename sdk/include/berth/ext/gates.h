/* SPDX-License-Identifier: Apache-2.0
 * "berth.gates/1": the feature gates of Kubernetes that the host follows, for policies that decide otherwise without one. */
#ifndef BERTH_EXT_GATES_H
#define BERTH_EXT_GATES_H

#include "../abi/status.h"

typedef struct berth_gates_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  /* 1: the gate of that name is on, 0: off, -1: the host does not follow it. The same for as long as the host runs.  [any] */
  int32_t (*is_on)(void* ctx, berth_str gate);
} berth_gates_v1;

#endif
