// SPDX-License-Identifier: Apache-2.0
// Calls of pre-bind and bind that a plugin answers late, more than once, or never.
#include "framework/points/bind.hpp"

#include <atomic>
#include <thread>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

struct BindCallsFixture : FrameworkFixture {
  BindCallsFixture() {
    add_node("n1");
    refresh();
    plugin.pre_bind = [this](const berth_cycle_v1&, berth_bind_call_v1* call, berth_note_v1*) -> berth_code {
      opened = call;
      return BERTH_ASYNC;
    };
    instance = &add(plugin);
  }
  void start() {
    run_pre_bind(begin(make_pod("p")), *instance, {"n1", lookups, {}},
                 [this](Verdict verdict) { verdicts.push_back(std::move(verdict)); });
  }
  void complete(berth_code code, const char* text = "") { opened->complete(opened->ctx, code, key(text)); }

  BindLookups lookups;
  FakePlugin& plugin = make_plugin("example.com/Late");
  const PluginInstance* instance = nullptr;
  berth_bind_call_v1* opened = nullptr;
  std::vector<Verdict> verdicts;
};

TEST(BindCalls, TakeTheFirstAnswerAndNoOther) {
  BindCallsFixture f;
  f.start();
  EXPECT_TRUE(f.verdicts.empty());
  f.complete(BERTH_OK);
  f.complete(BERTH_ERROR, "changed my mind");
  ASSERT_EQ(f.verdicts.size(), 1u);
  EXPECT_TRUE(f.verdicts[0].success());
}

TEST(BindCalls, ThatAreNeverAnsweredFailAtTheEndWithThePluginsName) {
  BindCallsFixture f;
  f.start();
  EXPECT_EQ(f.host.bind_calls.give_up(), 1u);
  ASSERT_EQ(f.verdicts.size(), 1u);
  EXPECT_EQ(f.verdicts[0].code, Code::error);
  EXPECT_EQ(f.verdicts[0].message(), "plugin example.com/Late has not answered PreBind for pod default/p");
  EXPECT_NE(f.opened->cancelled(f.opened->ctx), 0u) << "it may stop";
  f.complete(BERTH_OK);
  EXPECT_EQ(f.verdicts.size(), 1u) << "too late";
  EXPECT_EQ(f.host.bind_calls.give_up(), 0u);
}

TEST(BindCalls, HaveOneVerdictEachWhenTheyAreGivenUpWhileTheyAreAnswered) {
  constexpr int k_calls = 1'500;  // some calls serve several pods
  BindCallsFixture f;
  std::atomic<int> verdicts{0};
  std::atomic<bool> is_over{false};
  std::thread giving_up([&] {
    while (!is_over) f.host.bind_calls.give_up();
  });
  for (int i = 0; i < k_calls; ++i) {
    run_pre_bind(f.begin(f.make_pod("p")), *f.instance, {"n1", f.lookups, {}}, [&](Verdict) { ++verdicts; });
    f.complete(BERTH_OK);
  }
  is_over = true;
  giving_up.join();
  EXPECT_EQ(verdicts, k_calls);
}

/// A bit that means something to a later host must not be taken for nothing.
TEST(PreBindCheck, FailsWithFlagsThatAreNotKnown) {
  BindCallsFixture f;
  FakePlugin& odd = f.make_plugin("example.com/Odd");
  std::uint32_t answer = BERTH_PRE_BIND_PARALLEL;
  odd.pre_bind = f.plugin.pre_bind;
  odd.pre_bind_check = [&](std::uint32_t* flags, berth_note_v1*) -> berth_code {
    *flags = answer;
    return BERTH_OK;
  };
  const PluginInstance& instance = f.add(odd);
  CycleContext& context = f.begin(f.make_pod("p"));
  EXPECT_TRUE(run_pre_bind_check(context, instance, 0).parallel);
  answer = BERTH_PRE_BIND_PARALLEL | 4;
  const PreBindCheck check = run_pre_bind_check(context, instance, 0);
  EXPECT_EQ(check.verdict.code, Code::error);
  EXPECT_EQ(check.verdict.message(), "plugin example.com/Odd answered pre_bind_check with unknown flags 0x4");
}

TEST(BindCalls, MayBeAnsweredWhenTheHostIsGone) {
  berth_bind_call_v1* left = nullptr;
  {
    BindCallsFixture f;
    f.start();
    f.host.bind_calls.give_up();
    left = f.opened;
  }
  left->complete(left->ctx, BERTH_OK, key("at last"));
  EXPECT_NE(left->cancelled(left->ctx), 0u);
}

}  // namespace
}  // namespace berth::framework::testing
