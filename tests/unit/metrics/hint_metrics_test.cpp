// SPDX-License-Identifier: Apache-2.0
#include "metrics/hint_metrics.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::app {
namespace {

using model::EventResource;
namespace actions = model::actions;

class HintMetricsTest : public testing::Test {
 protected:
  std::string text() const {
    observe::MetricPage page;
    metrics.add_to(page, names);
    return page.text();
  }
  /// "EVENT\",hint=\"HINT": how many pods; -1: no such line.
  int count(const std::string& what) const {
    const std::string page = text(), line = "_count{event=\"" + what + "\",plugin=\"Fit\"} ";
    const std::size_t at = page.find(line);
    return at == std::string::npos ? -1 : std::stoi(page.substr(at + line.size()));
  }

  framework::PluginNames names;
  const model::PluginIndex fit = names.index_of("Fit");
  metrics::HintMetrics metrics;
};

TEST_F(HintMetricsTest, CountPodsByEventAndAnswer) {
  const model::ClusterEvent node_add{EventResource::node, actions::add, {}};
  metrics.add(fit, node_add, {2, 1, false}, 0.003);
  metrics.add(fit, node_add, {1, 0, false}, 0.001);
  metrics.add(fit, {EventResource::node, actions::remove, {}}, {2, 0, true}, 0.002);
  metrics.add(fit, {EventResource::pod, actions::add, {}}, {0, 0, false}, 0.001);
  EXPECT_EQ(count("NodeAdd\",hint=\"Queue"), 3);
  EXPECT_EQ(count("NodeAdd\",hint=\"QueueSkip"), 1);
  EXPECT_EQ(count("NodeDelete\",hint=\"Error"), 2);
  EXPECT_EQ(count("PodAdd\",hint=\"Queue"), -1) << "no hint was asked about";
  EXPECT_NE(text().find("_sum{event=\"NodeAdd\",hint=\"Queue\",plugin=\"Fit\"} 0.003\n"), std::string::npos)
      << "each pod has its share of the time: " << text();
}

TEST_F(HintMetricsTest, OfWatchesOfOneResourceAreOneLine) {
  for (const std::uint32_t watch : {3U, 7U})
    metrics.add(fit,
                {static_cast<EventResource>(static_cast<std::uint32_t>(EventResource::first_watch) + watch),
                 actions::add, "services.v1.Add"},
                {1, 0, false}, 0.001);
  EXPECT_EQ(count("services.v1.Add\",hint=\"Queue"), 2) << text();
}

}  // namespace
}  // namespace berth::app
