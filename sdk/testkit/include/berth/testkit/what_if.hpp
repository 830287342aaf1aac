// SPDX-License-Identifier: Apache-2.0
/// WhatIf: an attempt on a clone of its state, with pods moved, as the host asks when it looks for victims.
///
///   ASSERT_EQ(attempt.pre_filter(), Outcome{});
///   {
///     WhatIf what_if(policy, attempt);
///     what_if.remove(pod, 0);
///     attempt.filter();   // about the clone
///   }
///   attempt.filter();     // as before
///
/// Errors:  CallError with the policy's words where state_clone, pod_added or pod_removed is not OK.
/// Source:  berth_prepare_ops_v1 (ext/prepare.h). Threads: one. The cycle has no BERTH_CYCLE_DRY_RUN here, as the host sets it.
#pragma once
#include <berth/testkit/policy.hpp>

namespace berth::testkit {

/// Lifetime: policy and attempt outlive it. Requires: the policy offers berth.prepare/1 with clones.
class WhatIf {
 public:
  /// Clones what pre_filter left. From here on the attempt is about the clone.
  WhatIf(Policy& policy, Attempt& attempt)
      : policy_(policy), attempt_(attempt), ops_(*policy.ops<berth_prepare_ops_v1>("berth.prepare/1")) {
    original_ = attempt.cycle()->state;
    NoteRecord note;
    const berth_code code = ops_.state_clone(policy.self(), original_, &attempt.cycle()->state, note.raw());
    if (code != BERTH_OK) throw CallError({code, note.text()});
  }
  /// Frees the clone and puts the attempt's own state back. In reverse order where several are nested.
  ~WhatIf() {
    ops_.state_free(policy_.self(), attempt_.cycle()->state);
    attempt_.cycle()->state = original_;
  }
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  /// The node of that slot gets the pod, or loses it. The policy sees the groups that it requested.
  void add(const PodSpec& pod, berth_slot slot) { move(ops_.pod_added, pod, slot); }
  void remove(const PodSpec& pod, berth_slot slot) { move(ops_.pod_removed, pod, slot); }

 private:
  template <class Function>
  void move(Function function, const PodSpec& pod, berth_slot slot) {
    PodRecord record(policy_.host(), pod);
    NoteRecord note;
    const berth_code code = function(policy_.self(), attempt_.cycle(), record.raw(), slot, note.raw());
    if (code != BERTH_OK) throw CallError({code, note.text()});
  }

  Policy& policy_;
  Attempt& attempt_;
  const berth_prepare_ops_v1& ops_;
  void* original_;
};

}  // namespace berth::testkit
