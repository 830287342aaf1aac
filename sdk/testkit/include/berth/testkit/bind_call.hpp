// SPDX-License-Identifier: Apache-2.0
/// RecordedCall: a pre-bind or bind in progress that keeps what it was completed with.
#pragma once
#include <berth/testkit/policy.hpp>

namespace berth::testkit {

class RecordedCall {
 public:
  explicit RecordedCall(const std::string& node) : node_(node) {
    raw_ = {sizeof raw_,
            0,
            this,
            str(node_),
            [](void*) { return 0u; },
            [](void* ctx, berth_code code, berth_str text) {
              static_cast<RecordedCall*>(ctx)->outcomes.push_back({code, text_of(text)});
            },
            [](void*) { return 1u; },
            nullptr};
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;
  berth_bind_call_v1* raw() { return &raw_; }
  std::vector<Outcome> outcomes;

 private:
  std::string node_;
  berth_bind_call_v1 raw_{};
};

/// What the policy's bind (pre_bind) returns at once.
inline Outcome bind(Policy& policy, const PodSpec& pod, RecordedCall& call) {
  Attempt attempt(policy, pod, {});
  NoteRecord note;
  const berth_code code =
      policy.ops<berth_bind_ops_v1>("berth.bind/1")->bind(policy.self(), attempt.cycle(), call.raw(), note.raw());
  return policy.outcome(code, note);
}
/// Of an attempt whose earlier points have run.
inline Outcome pre_bind(Policy& policy, Attempt& attempt, RecordedCall& call) {
  NoteRecord note;
  const berth_code code =
      policy.ops<berth_bind_ops_v1>("berth.bind/1")->pre_bind(policy.self(), attempt.cycle(), call.raw(), note.raw());
  return policy.outcome(code, note);
}
inline Outcome pre_bind(Policy& policy, const PodSpec& pod, RecordedCall& call) {
  Attempt attempt(policy, pod, {});
  return pre_bind(policy, attempt, call);
}

}  // namespace berth::testkit
