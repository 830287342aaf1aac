// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/symbols.hpp"
#include "binding/waiting_pods.hpp"
#include "cache/cluster_cache.hpp"
#include "cache/pod_groups.hpp"
#include "cluster/cluster_reader.hpp"
#include "model/event.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::ingest {

/// Where objects other than pods and nodes go. Threads: as ClusterSink.
class ObjectFeed {
 public:
  virtual ~ObjectFeed() = default;
  virtual void store(const model::Object& object) = 0;
  virtual void remove(const model::Object& object) = 0;
  /// Numbers of the watches that plugins declared for this resource ("core/v1/services").
  virtual std::vector<std::uint32_t> watches(std::string_view resource) const = 0;
};

struct IngestParts {
  cache::ClusterCache& cache;
  cache::PodGroups& groups;
  queue::SchedulingQueue& queue;
  binding::WaitingPods& waiting;
  ObjectFeed& objects;
  const Clock& clock;
  /// True when a profile has this scheduler name.
  std::function<bool(std::string_view scheduler_name)> responsible;
  /// Name of a pod's group within its namespace; empty: it is in none. A pure function of the pod. Called without a lock.
  std::function<std::string(const model::Pod& pod)> group_of;
  /// Called once, when everything that existed at the start is in.
  std::function<void()> on_synced = {};
  /// Called for each event that something raised, with the time from its coming in until cache and queue knew. An
  /// update of a node that changes nothing for scheduling raises none.
  std::function<void(const model::ClusterEvent& event, double seconds)> on_handled = {};
};

/// Turns what happens in the cluster into what cache and queue are to know, in the order that decisions depend on.
///
/// Place:    the ClusterReader's sink.
///           Old against new decides what changed;
///           the cache hears of facts, the queue of pending pods and of events that may help waiting ones.
/// Lifetime: all parts outlive it.
/// Threads:  as ClusterSink: one caller at a time.
///           Takes the locks of cache, queue and waiting pods one after another,
///           never one inside another.
/// Failure:  what the cache refuses is logged;
///           the queue hears of the event all the same.
/// Source:   kubernetes v1.36 pkg/scheduler/eventhandlers.go.
///           Departs: a pod that was replaced under its name between two looks is a deletion and an addition.
class Ingest final : public cluster::ClusterSink {
 public:
  explicit Ingest(IngestParts parts) : parts_(std::move(parts)) {}

  void pod_added(const model::PodPtr& pod) override;
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override;
  void pod_deleted(const model::PodPtr& pod) override;

  void node_added(const model::NodePtr& node) override;
  void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) override;
  void node_deleted(const model::NodePtr& node) override;

  void object_added(const model::ObjectPtr& object) override;
  void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) override;
  void object_deleted(const model::ObjectPtr& object) override;

  void synced() override;

 private:
  std::int64_t now_ns() const noexcept { return parts_.clock.monotonic_ns(); }
  void handled(const model::ClusterEvent& event, std::int64_t began_ns) const;

  void assigned_added(const model::PodPtr& pod);
  std::vector<model::ClusterEvent> assigned_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod);
  void assigned_deleted(const model::PodPtr& pod);
  void pending_added(const model::PodPtr& pod);
  void pending_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod);
  void pending_deleted(const model::PodPtr& pod);
  void assumed_deleted(const model::Pod& pod);
  /// The node a pod was nominated is free for pods that are not more important.
  void nomination_ended(const model::PodPtr& pod);
  void object_changed(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object,
                      model::EventActions actions, std::int64_t began_ns);

  const IngestParts parts_;
};

/// The event resource of an API resource ("core/v1/persistentvolumes", in any version), or `any` for resources without
/// one.
model::EventResource event_resource(std::string_view resource) noexcept;

/// How an event of such an API resource is called: "storage.k8s.io/CSINodeAdd", or "widgets.v1.example.comAdd" for
/// resources that have no event resource. Lives as long as the process. Takes a lock. Threads: any.
std::string_view event_label(std::string_view resource, model::EventActions change);

}  // namespace berth::ingest
