// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {

/// Pre-bind plugins at work for pods that are then not bound: what they write is there for the pods that follow.
///
/// Place:   behind SinglePass, on an imagined cluster. Threads: one. All parts outlive it.
class PreBindPass {
 public:
  PreBindPass(scheduler::Scheduler& scheduler, cluster::EmbeddedCluster& cluster, ManualClock& clock);
  /// Ends what still waits: its plugins are told that nothing depends on it any more.
  ~PreBindPass();
  PreBindPass(const PreBindPass&) = delete;
  PreBindPass& operator=(const PreBindPass&) = delete;

  /// Empty: all have ended well; "waiting": some wait for the cluster, and the pod stays where it is; else the error, and the
  /// pod is nowhere any more.
  std::string run(const model::PodPtr& pod, cycle::Placement placement);

 private:
  struct Attempt;
  /// Delivers what was written until the call has ended, or nothing moves any more.
  void settle(const Attempt& attempt);

  scheduler::Scheduler& scheduler_;
  cluster::EmbeddedCluster& cluster_;
  ManualClock& clock_;
  std::vector<std::unique_ptr<Attempt>> waiting_;
};

}  // namespace berth::app
