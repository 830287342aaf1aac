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
/// Errors:  CallError with the policy's words where state_clone, pod_added or pod_removed fails.
/// Source:  berth_prepare_ops_v1 (ext/prepare.h). Threads: one. The cycle has no BERTH_CYCLE_DRY_RUN here, as the host sets it.
#pragma once
#include <berth/testkit/policy.hpp>

namespace berth::testkit {

/// Lifetime: policy and attempt outlive it. Requires: the policy offers berth.prepare/1 with clones.
class WhatIf {
 public:
  /// Clones what pre_filter left. From here on the attempt is about the clone.
  WhatIf(Policy& policy, Attempt& attempt);
  /// Frees the clone and puts the attempt's own state back. In reverse order where several are nested.
  ~WhatIf();
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  /// The node of that slot gets the pod, or loses it. The policy sees the groups that it requested. False: it says that no
  /// such pod matters to this attempt (SKIP).
  bool add(const PodSpec& pod, berth_slot slot);
  bool remove(const PodSpec& pod, berth_slot slot);

 private:
  template <class Function>
  bool move(Function function, const PodSpec& pod, berth_slot slot) {
    PodRecord record(policy_.host(), pod);
    NoteRecord note;
    const berth_code code = function(policy_.self(), attempt_.cycle(), record.raw(), slot, note.raw());
    if (code != BERTH_OK && code != BERTH_SKIP) throw CallError({code, note.text()});
    return code == BERTH_OK;
  }

  Policy& policy_;
  Attempt& attempt_;
  const berth_prepare_ops_v1& ops_;
  void* original_;
};

}  // namespace berth::testkit

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/what_if.ipp>
#endif
