// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cluster/cluster_reader.hpp"
#include "model/event.hpp"
#include "observe/metric_registry.hpp"

namespace berth::app {

/// Passes on what happens in the cluster, and records how long that took: scheduler_event_handling_duration_seconds.
/// An update counts for each event that it raises; one that changes nothing for scheduling is not counted.
/// Lifetime: sink and registry outlive it. Threads: as ClusterSink.
class TimedSink final : public cluster::ClusterSink {
 public:
  TimedSink(cluster::ClusterSink& sink, observe::MetricRegistry& registry);

  void pod_added(const model::PodPtr& pod) override;
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override;
  void pod_deleted(const model::PodPtr& pod) override;
  void node_added(const model::NodePtr& node) override;
  void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) override;
  void node_deleted(const model::NodePtr& node) override;
  void object_added(const model::ObjectPtr& object) override;
  void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) override;
  void object_deleted(const model::ObjectPtr& object) override;
  void synced() override { sink_.synced(); }

 private:
  /// The seconds that passing it on takes.
  template <typename Body>
  static double time(Body&& body);
  void record(std::string_view label, double seconds);
  void record(const model::ClusterEvent& event, double seconds) { record(event.name(), seconds); }

  cluster::ClusterSink& sink_;
  observe::MetricRegistry& registry_;
  const observe::MetricRegistry::Family family_;
  std::map<std::string, observe::MetricRegistry::Series, std::less<>> series_;  // by label, those that were used
};

}  // namespace berth::app
