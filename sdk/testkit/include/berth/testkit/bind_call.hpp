// SPDX-License-Identifier: Apache-2.0
/// RecordedCall: a pre-bind or bind in progress that keeps what it was completed with.
///
/// Threads: complete() may be called from any thread, but `outcomes` has no lock: read it when the policy is done.
/// Source:  berth_bind_call_v1 and berth_bind_ops_v1 (ext/bind.h).
#pragma once
#include <berth/testkit/policy.hpp>

namespace berth::testkit {

/// Outlives the policy's use of raw(): until it has called complete(), or has answered anything but ASYNC.
class RecordedCall {
 public:
  /// A call about the node of that name. It is never cancelled, the pod exists, and node() finds none.
  explicit RecordedCall(const std::string& node);
  ~RecordedCall();
  // The policy has a pointer to it.
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;
  /// What the policy is given.
  berth_bind_call_v1* raw() { return &raw_; }
  /// One per complete(), in their order: more than one is a defect of the policy that the real host reports in its
  /// log.
  std::vector<Outcome> outcomes;

 private:
  std::string node_;  ///< what raw_.node_name borrows
  berth_bind_call_v1 raw_{};
};

/// What the policy's bind returns at once: BERTH_ASYNC when complete() is to follow. The attempt has no nodes, and
/// ends with this call: a policy that works on must not use the cycle any more. Requires: the policy offers
/// berth.bind/1 with bind.
Outcome bind(Policy& policy, const PodSpec& pod, RecordedCall& call);
/// The same of pre_bind, of an attempt whose earlier points have run: its state is what they left. Requires: pre_bind
/// is there.
Outcome pre_bind(Policy& policy, Attempt& attempt, RecordedCall& call);
/// For a policy whose pre_bind needs nothing from earlier points.
Outcome pre_bind(Policy& policy, const PodSpec& pod, RecordedCall& call);

}  // namespace berth::testkit

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/bind_call.ipp>
#endif
