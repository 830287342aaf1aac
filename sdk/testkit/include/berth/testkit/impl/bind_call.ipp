// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/bind_call.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE RecordedCall::RecordedCall(const std::string& node) : node_(node) {
  raw_ = {sizeof raw_,
          0,
          this,
          str(node_),
          [](void*) { return 0u; },
          [](void* ctx, berth_code code, berth_str text) {
            static_cast<RecordedCall*>(ctx)->outcomes.push_back({code, text_of(text)});
          },
          [](void*) { return 1u; },
          [](void*, void (*)(void*, const berth_node_block_v1*), void*) -> berth_code { return BERTH_NOT_FOUND; }};
}

BERTH_TESTKIT_INLINE Outcome bind(Policy& policy, const PodSpec& pod, RecordedCall& call) {
  // Without nodes, as a cycle is while its pod is bound.
  Attempt attempt(policy, pod, {});
  NoteRecord note;
  const berth_code code =
      policy.ops<berth_bind_ops_v1>("berth.bind/1")->bind(policy.self(), attempt.cycle(), call.raw(), note.raw());
  return policy.outcome(code, note);
}

BERTH_TESTKIT_INLINE Outcome pre_bind(Policy& policy, Attempt& attempt, RecordedCall& call) {
  NoteRecord note;
  const berth_code code =
      policy.ops<berth_bind_ops_v1>("berth.bind/1")->pre_bind(policy.self(), attempt.cycle(), call.raw(), note.raw());
  return policy.outcome(code, note);
}

BERTH_TESTKIT_INLINE Outcome pre_bind(Policy& policy, const PodSpec& pod, RecordedCall& call) {
  Attempt attempt(policy, pod, {});
  return pre_bind(policy, attempt, call);
}

BERTH_TESTKIT_INLINE RecordedCall::~RecordedCall() = default;

}  // namespace berth::testkit
