// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_handling_metrics.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "observe/metric_page.hpp"

namespace berth::app {
namespace {

using model::EventResource;
namespace actions = model::actions;

/// How often each event was counted.
std::map<std::string, int> counted(const observe::MetricRegistry& registry) {
  constexpr std::string_view k_begin = "scheduler_event_handling_duration_seconds_count{event=\"";
  std::map<std::string, int> out;
  const std::string text = registry.render();
  for (std::size_t at = text.find(k_begin); at != std::string::npos; at = text.find(k_begin, at + 1)) {
    const std::size_t name = at + k_begin.size(), end = text.find('"', name);
    out[text.substr(name, end - name)] = std::stoi(text.substr(end + 3));
  }
  return out;
}

TEST(HandlingTimes, AreCountedByTheNameOfTheEvent) {
  const observe::CallCounters calls;
  observe::MetricRegistry registry(calls);
  metrics::HandlingTimes times(registry);
  for (int i = 0; i < 2; ++i) times.record({EventResource::node, actions::add, {}}, 0.001);
  times.record({EventResource::node, actions::remove, {}}, 0.001);
  times.record({EventResource::assigned_pod, actions::add, {}}, 0.001);
  // Resources that have no number are told apart by their label.
  times.record({EventResource::any, actions::add, "widgets.v1.example.comAdd"}, 0.001);
  times.record({EventResource::any, actions::add, "services.v1.Add"}, 0.001);
  EXPECT_EQ(counted(registry), (std::map<std::string, int>{{"NodeAdd", 2},
                                                           {"NodeDelete", 1},
                                                           {"AssignedPodAdd", 1},
                                                           {"widgets.v1.example.comAdd", 1},
                                                           {"services.v1.Add", 1}}));
}

TEST(HandlingTimes, AreSeconds) {
  const observe::CallCounters calls;
  observe::MetricRegistry registry(calls);
  metrics::HandlingTimes times(registry);
  times.record({EventResource::node, actions::add, {}}, 0.003);
  const std::string text = registry.render();
  EXPECT_NE(text.find("{event=\"NodeAdd\",le=\"0.0016\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("{event=\"NodeAdd\",le=\"0.0032\"} 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace berth::app
