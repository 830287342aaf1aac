// SPDX-License-Identifier: Apache-2.0
#include "framework/slow_calls.hpp"

#include <gtest/gtest.h>

namespace berth::framework {
namespace {

constexpr std::int64_t k_ms = 1'000'000;

/// What looks every 50 ms have told, as "plugin point pod ms".
struct Watched {
  void look(const std::vector<OpenCall>& calls) {
    for (const SlowCalls::Slow& slow : watch.look(calls, now_ns))
      told.push_back(slow.call.plugin + " " + slow.call.point + " " + slow.call.pod + " " +
                     std::to_string(slow.running_ns / k_ms));
    now_ns += 50 * k_ms;
  }
  SlowCalls watch{100 * k_ms};
  std::int64_t now_ns = 1'000'000 * k_ms;
  std::vector<std::string> told;
};

using Told = std::vector<std::string>;

TEST(SlowCalls, ACallIsToldOnceWhileItStillRuns) {
  Watched w;
  for (int i = 0; i < 10; ++i) w.look({{"filter", "Slow", "ns/p", (10 + i * 50) * k_ms}});
  EXPECT_EQ(w.told, (Told{"Slow filter ns/p 100"}));
  EXPECT_EQ(w.watch.counts(), (decltype(w.watch.counts()){{{"Slow", "filter"}, 1}}));
}

TEST(SlowCalls, CallsOfDifferentPluginsDoNotAddUp) {
  Watched w;
  for (int i = 0; i < 10; ++i) w.look({{"filter", i % 2 == 0 ? "A" : "B", "ns/p", (10 + i * 50) * k_ms}});
  EXPECT_EQ(w.told, Told{});
}

TEST(SlowCalls, QuickCallsOfOnePluginForOnePodAfterAnotherAreNone) {
  Watched w;
  for (int i = 0; i < 10; ++i) w.look({{"task", "Busy", "", 5 * k_ms}});
  EXPECT_EQ(w.told, Told{});
}

TEST(SlowCalls, CallsAtTheSameTimeAreTwo) {
  Watched w;
  for (int i = 0; i < 4; ++i)
    w.look({{"pre_bind", "Slow", "ns/p", (400 + i * 50) * k_ms}, {"pre_bind", "Slow", "ns/q", (1 + i * 50) * k_ms}});
  EXPECT_EQ(w.told, (Told{"Slow pre_bind ns/p 100", "Slow pre_bind ns/q 100"}));
  EXPECT_EQ(w.watch.counts(), (decltype(w.watch.counts()){{{"Slow", "pre_bind"}, 2}}));
}

TEST(SlowCalls, TheNextCallOfThatPluginIsToldAgain) {
  Watched w;
  for (int i = 0; i < 4; ++i) w.look({{"filter", "Slow", "ns/p", (10 + i * 50) * k_ms}});
  w.look({});
  for (int i = 0; i < 4; ++i) w.look({{"filter", "Slow", "ns/p", (10 + i * 50) * k_ms}});
  EXPECT_EQ(w.told.size(), 2u);
}

}  // namespace
}  // namespace berth::framework
