// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_registry.hpp"

#include <gtest/gtest.h>

namespace berth::observe {
namespace {

class MetricNames : public testing::Test {
 protected:
  std::string problem(const std::string& name, const std::string& owner, std::vector<std::string> labels = {}) {
    const auto made = registry.define({MetricKind::counter, name, "Help.", std::move(labels), {}, 100, owner});
    return made.ok() ? std::string() : made.error().message;
  }
  CallCounters calls;
  MetricRegistry registry{calls};
};

TEST_F(MetricNames, AreTheFirstPlugins) {
  EXPECT_EQ(problem("scheduler_things_total", "A"), "");
  EXPECT_EQ(problem("scheduler_things_total", "A"), "");  // by another of its instances
  EXPECT_EQ(problem("scheduler_things_total", "B"),
            "metric scheduler_things_total is defined already by plugin A; choose another name");
  EXPECT_EQ(problem("scheduler_things_total", ""),
            "metric scheduler_things_total is defined already by plugin A; choose another name");
  EXPECT_EQ(problem("scheduler_things_total", "A", {"status"}),
            "metric scheduler_things_total is defined already, with another kind, other labels or buckets");
}

TEST_F(MetricNames, OfTheSchedulerAreItsOwnBeforeItDefinesThem) {
  // Defined later, or added when the page is read.
  for (const char* name : {"scheduler_preemption_victims", "scheduler_pending_pods"})
    EXPECT_EQ(problem(name, "A"), std::string("metric ") + name + " is the scheduler's own; choose another name");
  EXPECT_EQ(problem("scheduler_preemption_victims", ""), "");
  EXPECT_EQ(problem("berth_own_total", ""), "");
  EXPECT_EQ(problem("berth_own_total", "A"),
            "metric berth_own_total is defined already by the scheduler itself; choose another name");
}

TEST_F(MetricNames, OfLabelsAreKnownByFamily) {
  const auto made = registry.define({MetricKind::counter, "a_total", "Help.", {"x", "y"}, {}, 100, "A"});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(registry.labels(*made), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(registry.labels(*made + 1).empty());
}

}  // namespace
}  // namespace berth::observe
