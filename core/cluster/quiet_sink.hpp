// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster_reader.hpp"

namespace berth::cluster {

/// Takes every change and does nothing: a base of sinks that look at some. Threads: any, as it has no state.
class QuietSink : public ClusterSink {
 public:
  void pod_added(const model::PodPtr&) override {}
  void pod_updated(const model::PodPtr&, const model::PodPtr&) override {}
  void pod_deleted(const model::PodPtr&) override {}
  void node_added(const model::NodePtr&) override {}
  void node_updated(const model::NodePtr&, const model::NodePtr&) override {}
  void node_deleted(const model::NodePtr&) override {}
  void object_added(const model::ObjectPtr&) override {}
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr&) override {}
  void object_deleted(const model::ObjectPtr&) override {}
  void synced() override {}
};

}  // namespace berth::cluster
