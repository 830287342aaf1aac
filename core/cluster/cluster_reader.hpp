// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"

/// The cluster outside: what it is like now, what changes, and what berth asks it to change.
namespace berth::cluster {

/// Hears of the cluster. Implemented by ingest.
/// Threads: called by one thread at a time, in the order of the changes of each object.
class ClusterSink {
 public:
  virtual ~ClusterSink() = default;

  virtual void pod_added(const model::PodPtr& pod) = 0;
  /// Old and new may have different uids: the pod was replaced under its name between two looks.
  virtual void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) = 0;
  /// Also for a pod that reached Succeeded or Failed: such pods are not delivered. `pod` is the last known state.
  virtual void pod_deleted(const model::PodPtr& pod) = 0;

  virtual void node_added(const model::NodePtr& node) = 0;
  virtual void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) = 0;
  virtual void node_deleted(const model::NodePtr& node) = 0;

  virtual void object_added(const model::ObjectPtr& object) = 0;
  virtual void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) = 0;
  virtual void object_deleted(const model::ObjectPtr& object) = 0;

  /// Once: everything that existed at the start has been delivered as added. Scheduling may begin.
  virtual void synced() = 0;
};

/// Source of a ClusterSink's calls: memory, or a watch on an API server.
/// Threads: start() and stop() from one thread.
class ClusterReader {
 public:
  virtual ~ClusterReader() = default;
  /// Delivers what exists as added, then synced(), then changes. Requires: called once; sink outlives the reader or
  /// stop().
  virtual void start(ClusterSink& sink) = 0;
  /// When it returns, no call of the sink runs and none will follow.
  virtual void stop() noexcept = 0;
};

}  // namespace berth::cluster
