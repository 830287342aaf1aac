// SPDX-License-Identifier: Apache-2.0
#include "app/timed_sink.hpp"

#include <gtest/gtest.h>

#include "observe/metric_page.hpp"
#include "support/quiet_sink.hpp"

namespace berth::app {
namespace {

class TimedSinkTest : public testing::Test {
 protected:
  static model::PodPtr pod(Symbol node, std::vector<model::Label> labels = {}) {
    auto out = std::make_shared<model::Pod>();
    out->node_name = node;
    out->labels = std::move(labels);
    return out;
  }
  static model::ObjectPtr object(const std::string& resource) {
    auto out = std::make_shared<model::Object>();
    out->resource = resource;
    return out;
  }
  /// How often each event was counted.
  std::map<std::string, int> counted() const {
    constexpr std::string_view k_begin = "scheduler_event_handling_duration_seconds_count{event=\"";
    std::map<std::string, int> out;
    const std::string text = registry_.render();
    for (std::size_t at = text.find(k_begin); at != std::string::npos; at = text.find(k_begin, at + 1)) {
      const std::size_t name = at + k_begin.size(), end = text.find('"', name);
      out[text.substr(name, end - name)] = std::stoi(text.substr(end + 3));
    }
    return out;
  }

  tests::QuietSink quiet_;
  observe::CallCounters calls_;
  observe::MetricRegistry registry_{calls_};
  TimedSink sink_{quiet_, registry_};
};

using Counted = std::map<std::string, int>;

TEST_F(TimedSinkTest, AnUpdateIsCountedForWhatItChanges) {
  auto before = std::make_shared<model::Node>(), after = std::make_shared<model::Node>();
  after->labels = std::vector<model::Label>{{1, 2}};
  after->allowed_pods = 5;
  sink_.node_added(before);
  sink_.node_updated(before, after);
  sink_.node_updated(after, after);  // a heartbeat
  sink_.node_deleted(after);
  EXPECT_EQ(counted(),
            (Counted{{"NodeAdd", 1}, {"NodeUpdateNodeAllocatable", 1}, {"NodeUpdateNodeLabel", 1}, {"NodeDelete", 1}}));
}

TEST_F(TimedSinkTest, PodsAreOfTwoKindsAndBecomeTheOther) {
  const model::PodPtr pending = pod(k_no_symbol), bound = pod(7), labelled = pod(7, {{1, 2}});
  sink_.pod_added(pending);
  sink_.pod_updated(pending, pod(k_no_symbol, {{1, 2}}));
  sink_.pod_updated(pending, bound);
  sink_.pod_updated(bound, labelled);
  sink_.pod_deleted(labelled);
  EXPECT_EQ(counted(), (Counted{{"UnschedulablePodAdd", 1},
                                {"UnschedulablePodUpdate", 1},
                                {"AssignedPodAdd", 1},
                                {"AssignedPodUpdatePodLabel", 1},
                                {"AssignedPodDelete", 1}}));
}

TEST_F(TimedSinkTest, OtherObjectsAreCalledByTheirResource) {
  sink_.object_added(object("storage.k8s.io/v1/csinodes"));
  sink_.object_updated(object("example.com/v1/widgets"), object("example.com/v1/widgets"));
  sink_.object_deleted(object("core/v1/services"));
  EXPECT_EQ(
      counted(),
      (Counted{{"storage.k8s.io/CSINodeAdd", 1}, {"widgets.v1.example.comUpdate", 1}, {"services.v1.Delete", 1}}));
}

}  // namespace
}  // namespace berth::app
