// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "cluster/cluster_reader.hpp"
#include "model/event.hpp"
#include "observe/metric_registry.hpp"

namespace berth::app {

/// Passes on what happens in the cluster, and records how long that took: scheduler_event_handling_duration_seconds.
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
  enum class Change : std::uint8_t { add, update, remove };
  template <typename Body>
  void time(model::EventResource resource, Change change, Body&& body);

  cluster::ClusterSink& sink_;
  observe::MetricRegistry& registry_;
  const observe::MetricRegistry::Family family_;
  std::map<std::pair<model::EventResource, Change>, observe::MetricRegistry::Series> series_;  // those that were used
};

}  // namespace berth::app
