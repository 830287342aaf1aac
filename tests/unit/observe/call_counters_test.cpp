// SPDX-License-Identifier: Apache-2.0
#include "observe/call_counters.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace berth::observe {
namespace {

TEST(CallCounters, AddUpOverThreadsAndProfiles) {
  CallCounters counters;
  const CallCounters::Id a = counters.define("Fit", "filter", "one"), b = counters.define("Fit", "filter", "two");
  counters.add(a, 100);
  std::thread([&] {
    for (int i = 0; i < 4; ++i) counters.add(b, 100);
  }).join();
  const std::vector<CallTotal> totals = counters.totals();
  ASSERT_EQ(totals.size(), 1U) << "one row per plugin and point, whatever the profiles";
  EXPECT_EQ(totals[0].plugin, "Fit");
  EXPECT_EQ(totals[0].point, "filter");
  EXPECT_EQ(totals[0].calls, 5U);
  EXPECT_GT(totals[0].seconds, 0);
}

TEST(CallCounters, KeepOutcomesApart) {
  CallCounters counters;
  const CallCounters::Id call = counters.define("Fit", "filter", "p");
  const CallCounters::Id run = counters.define_run("p", "filter");
  counters.add(call, 1, 0);
  counters.add(call, 1, 2);
  counters.add(call, 1, 2);
  counters.add(call, 1, 1000);  // shares the last cell
  counters.add(run, 1, 0);
  std::map<std::pair<bool, int>, std::uint64_t> seen;
  for (const CallOutcome& outcome : counters.outcomes())
    seen[{outcome.family == CallFamily::point_run, outcome.outcome}] = outcome.calls;
  const std::map<std::pair<bool, int>, std::uint64_t> expected{
      {{false, 0}, 1}, {{false, 2}, 2}, {{false, CallCounters::k_outcomes - 1}, 1}, {{true, 0}, 1}};
  EXPECT_EQ(seen, expected);
}

TEST(CallCounters, PutDurationsIntoUpstreamsBuckets) {
  CallCounters counters;
  const auto plugin = CallCounters::bounds_s(CallFamily::plugin_call);
  const auto run = CallCounters::bounds_s(CallFamily::point_run);
  ASSERT_EQ(plugin.size(), 20U);
  EXPECT_DOUBLE_EQ(plugin[0], 0.00001);
  EXPECT_DOUBLE_EQ(plugin[1], 0.000015);
  ASSERT_EQ(run.size(), 12U);
  EXPECT_DOUBLE_EQ(run[0], 0.0001);
  EXPECT_DOUBLE_EQ(run[11], 0.2048);
  const CallCounters::Id id = counters.define_run("p", "filter");
  counters.add_ns(id, 50'000, 0);          // the first
  counters.add_ns(id, 300'000, 0);         // 200 µs to 400 µs
  counters.add_ns(id, 10'000'000'000, 0);  // beyond all
  const std::vector<CallOutcome> outcomes = counters.outcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  std::vector<std::uint64_t> expected(13, 0);
  expected[0] = expected[2] = expected[12] = 1;
  EXPECT_EQ(outcomes[0].buckets, expected);
  EXPECT_NEAR(outcomes[0].seconds, 10.00035, 0.001);
}

TEST(CallCounters, CountCallsOfCountersThatAreDefinedLater) {
  CallCounters counters;
  const CallCounters::Id first = counters.define("Fit", "filter", "p0");
  counters.add(first, 1);  // this thread has its cells now
  // 100 profiles of 165 counters each, as many plugins and points give.
  std::vector<CallCounters::Id> ids;
  for (int profile = 0; profile < 100; ++profile)
    for (int plugin = 0; plugin < 165; ++plugin)
      ids.push_back(counters.define("Plugin" + std::to_string(plugin), "filter", "p" + std::to_string(profile)));
  for (const CallCounters::Id id : ids) counters.add(id, 1);
  counters.add(first, 1);
  std::uint64_t calls = 0;
  for (const CallTotal& total : counters.totals()) calls += total.calls;
  EXPECT_EQ(calls, ids.size() + 2);
  EXPECT_EQ(counters.outcomes().size(), ids.size() + 1) << "each counter is one of its own";
}

TEST(CallCounters, ShareOneCounterBeyondTheLast) {
  CallCounters counters;
  for (std::size_t i = 0; i < CallCounters::k_max_ids; ++i) counters.define("Fit", "filter", "p");
  const CallCounters::Id call = counters.define("Late", "filter", "p");
  EXPECT_EQ(counters.define("Later", "score", "q"), call);
  const CallCounters::Id run = counters.define_run("q", "filter");
  EXPECT_NE(run, call);
  counters.add(call, 1);
  counters.add(run, 1);
  const std::vector<CallOutcome> outcomes = counters.outcomes();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].plugin, "other");
  EXPECT_EQ(outcomes[0].family, CallFamily::plugin_call);
  EXPECT_EQ(outcomes[1].family, CallFamily::point_run);
}

}  // namespace
}  // namespace berth::observe
