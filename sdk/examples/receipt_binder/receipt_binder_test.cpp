// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/bind_call.hpp>
#include <berth/testkit/module.hpp>

namespace {
using namespace berth::testkit;

/// A patch of a pod that the server has not answered yet.
struct Patch {
  std::string pod, json;
  berth_write_done_v1 done;
  void* arg;
};
std::vector<Patch> patches;

struct Binding {
  std::string pod, node;
  berth_write_done_v1 done;
  void* arg;
};
std::vector<Binding> bindings;

std::string path_of(berth_str ns, berth_str name, berth_str uid) {
  return text_of(ns) + "/" + text_of(name) + " " + text_of(uid);
}

/// FakeHost binds; patches of pods, and half past eleven, are ours.
void install(FakeHost& host) {
  static const berth_writes_v1 writes{
      sizeof writes,
      0,
      [](void*, berth_str ns, berth_str name, berth_str uid, berth_str node, berth_write_done_v1 done,
         void* arg) -> berth_code {
        return bindings.push_back({path_of(ns, name, uid), text_of(node), done, arg}), BERTH_OK;
      },
      nullptr,
      [](void*, berth_str ns, berth_str name, berth_str uid, berth_str json, berth_write_done_v1 done,
         void* arg) -> berth_code {
        return patches.push_back({path_of(ns, name, uid), text_of(json), done, arg}), BERTH_OK;
      },
      nullptr,
      nullptr};
  static const berth_clock_v1 clock{sizeof clock, 0, nullptr,
                                    [](void*) { return std::int64_t{1769945400} * 1'000'000'000; }};
  patches.clear();
  bindings.clear();
  host.extra_services["berth.writes/1"] = &writes;
  host.extra_services["berth.clock/1"] = &clock;
}

class ReceiptBinder : public testing::Test {
 protected:
  const PodSpec pod{.name = "web", .ns = "shop", .uid = "1234", .annotations = {{"example.com/receipt", "please"}}};
  Policy policy{tested_library(), "", &install};
  RecordedCall call{"node-7"};
};

TEST_F(ReceiptBinder, LeavesPodsThatDoNotAskToTheNextBindPlugin) {
  EXPECT_EQ(bind(policy, {.name = "web"}, call), (Outcome{BERTH_SKIP, ""}));
  EXPECT_TRUE(patches.empty() && bindings.empty());
}

TEST_F(ReceiptBinder, WritesTheReceiptFirstAndTheBindingWhenThatIsDone) {
  ASSERT_EQ(bind(policy, pod, call), (Outcome{BERTH_ASYNC, ""}));
  ASSERT_EQ(patches.size(), 1u);
  EXPECT_EQ(patches[0].pod, "shop/web 1234");
  EXPECT_EQ(patches[0].json,
            R"({"metadata":{"annotations":{"example.com/bound-to":"node-7 at 2026-02-01T11:30:00Z"}}})");
  EXPECT_TRUE(bindings.empty());
  patches[0].done(patches[0].arg, BERTH_OK, {});
  ASSERT_EQ(bindings.size(), 1u);
  EXPECT_EQ(bindings[0].pod + " on " + bindings[0].node, "shop/web 1234 on node-7");
  EXPECT_TRUE(call.outcomes.empty()) << "not before the server has answered";
  bindings[0].done(bindings[0].arg, BERTH_OK, {});
  EXPECT_EQ(call.outcomes, std::vector<Outcome>{Outcome{}});
}

TEST_F(ReceiptBinder, BindsNothingWithoutAReceipt) {
  ASSERT_EQ(bind(policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  patches[0].done(patches[0].arg, BERTH_NOT_FOUND, str("pods \"web\" not found"));
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "pods \"web\" not found"}}));
  EXPECT_TRUE(bindings.empty());
}

TEST_F(ReceiptBinder, PassesOnThatTheBindingFailed) {
  ASSERT_EQ(bind(policy, pod, call).code, static_cast<berth_code>(BERTH_ASYNC));
  patches[0].done(patches[0].arg, BERTH_OK, {});
  bindings[0].done(bindings[0].arg, BERTH_ERROR, str("conflict"));
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "conflict"}}));
}

}  // namespace
