// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/what_if.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE WhatIf::WhatIf(Policy& policy, Attempt& attempt)
    : policy_(policy), attempt_(attempt), ops_(*policy.ops<berth_prepare_ops_v1>("berth.prepare/1")) {
  original_ = attempt.cycle()->state;
  NoteRecord note;
  const berth_code code = ops_.state_clone(policy.self(), original_, &attempt.cycle()->state, note.raw());
  if (code != BERTH_OK) throw CallError({code, note.text()});
}

BERTH_TESTKIT_INLINE WhatIf::~WhatIf() {
  ops_.state_free(policy_.self(), attempt_.cycle()->state);
  attempt_.cycle()->state = original_;
}

BERTH_TESTKIT_INLINE bool WhatIf::add(const PodSpec& pod, berth_slot slot) { return move(ops_.pod_added, pod, slot); }

BERTH_TESTKIT_INLINE bool WhatIf::remove(const PodSpec& pod, berth_slot slot) {
  return move(ops_.pod_removed, pod, slot);
}

}  // namespace berth::testkit
