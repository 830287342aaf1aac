// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/node.hpp"
#include "model/pod.hpp"

namespace berth::cache {

/// Hears what the cache is told, and when a snapshot is taken, in the order in which the one shows in the other.
///
/// Threads: any, one at a time: called with the cache's lock held, so it must be quick and take no lock that is held while
///          the cache is asked. Failure: must not throw.
class ChangeObserver {
 public:
  virtual ~ChangeObserver() = default;
  virtual void node_put(const model::NodePtr& node) noexcept = 0;
  virtual void node_removed(const model::NodePtr& node) noexcept = 0;
  /// The API server says that the pod is on pod->node_name.
  virtual void pod_put(const model::PodPtr& pod) noexcept = 0;
  virtual void pod_removed(const model::Pod& pod) noexcept = 0;
  /// An assumption was given up. That one was made is not told: its maker knows.
  virtual void pod_given_back(const model::Pod& pod) noexcept = 0;
  /// A snapshot was brought up to date: it has all of the above, and nothing that follows.
  virtual void snapshot_taken() noexcept = 0;
};

}  // namespace berth::cache
