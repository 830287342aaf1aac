// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/bind_call.hpp>

namespace {
using namespace berth::testkit;

const PodSpec k_pod{.name = "web-1", .ns = "shop", .uid = "1234"};

TEST(DefaultBinder, WritesTheBindingAndLeavesTheThread) {
  Policy policy(tested_library());
  RecordedCall call("node-7");
  EXPECT_EQ(bind(policy, k_pod, call), (Outcome{BERTH_ASYNC, ""}));
  ASSERT_EQ(policy.host().binds.size(), 1u);
  const FakeHost::BindWrite& write = policy.host().binds[0];
  EXPECT_EQ(write.ns + "/" + write.name + "/" + write.uid + " on " + write.node_name, "shop/web-1/1234 on node-7");
  EXPECT_TRUE(call.outcomes.empty()) << "not before the server has answered";
  write.done(write.arg, BERTH_OK, {});
  EXPECT_EQ(call.outcomes, std::vector<Outcome>{Outcome{}});
}

TEST(DefaultBinder, PassesOnWhatTheServerSays) {
  for (const berth_code code : {BERTH_ERROR, BERTH_NOT_FOUND, BERTH_DENIED}) {
    Policy policy(tested_library());
    RecordedCall call("node-7");
    ASSERT_EQ(bind(policy, k_pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
    policy.host().binds[0].done(policy.host().binds[0].arg, code, str("pods \"web-1\" not found"));
    EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "pods \"web-1\" not found"}}));
  }
}

TEST(DefaultBinder, FailsWhenTheHostRefusesTheWrite) {
  Policy policy(tested_library());
  policy.host().bind_answer = BERTH_DENIED;
  RecordedCall call("node-7");
  EXPECT_EQ(bind(policy, k_pod, call), (Outcome{BERTH_ERROR, "the host does not let this plugin create bindings"}));
  EXPECT_TRUE(call.outcomes.empty()) << "complete() belongs to asynchronous calls";
}

}  // namespace
