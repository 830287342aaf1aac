// SPDX-License-Identifier: Apache-2.0
#include "metrics/scheduler_metrics.hpp"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

TEST(SchedulerMetricsTest, ShowWhatTheLastChoiceSaidOfReuse) {
  const config::Configuration configuration;
  observe::CallCounters counters;
  observe::MetricRegistry registry(counters);
  metrics::SchedulerMetrics metrics(configuration, registry, counters);
  metrics.choice_made(1, {.reused = 11, .diagnoses = 22, .ranked = 33, .evaluated = 44, .violations = 55, .bytes = 66});
  const cycle::ReuseCounts shown = metrics.reuse();
  EXPECT_EQ(shown.reused, 11U);
  EXPECT_EQ(shown.diagnoses, 22U);
  EXPECT_EQ(shown.ranked, 33U);
  EXPECT_EQ(shown.evaluated, 44U);
  EXPECT_EQ(shown.violations, 55U);
  EXPECT_EQ(shown.bytes, 66U);
}

}  // namespace
}  // namespace berth::app
