// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/symbols.hpp"
#include "binding/timers.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "framework/points/bind.hpp"

namespace berth::app {

/// Pre-bind plugins at work for pods that are then not bound: what they write is there for the pods that follow.
///
/// Place:   behind SinglePass, on an imagined cluster. Threads: one. All parts outlive it.
class PreBindPass {
 public:
  PreBindPass(const framework::BindLookups& lookups, const SymbolTable& symbols, cluster::EmbeddedCluster& cluster,
              binding::Timers& timers, ManualClock& clock);
  /// Ends what still waits: its plugins are told that nothing depends on it any more.
  ~PreBindPass();
  PreBindPass(const PreBindPass&) = delete;
  PreBindPass& operator=(const PreBindPass&) = delete;

  enum class End : std::uint8_t {
    well,    // of all
    waiting  // some wait for the cluster, and the pod stays where it is
  };
  /// After a failure the pod is nowhere any more.
  Result<End> run(const model::PodPtr& pod, cycle::Placement placement);

 private:
  struct Attempt;
  /// Delivers what was written until the call has ended, or nothing moves any more.
  void settle(const Attempt& attempt);

  const framework::BindLookups& lookups_;
  const SymbolTable& symbols_;
  cluster::EmbeddedCluster& cluster_;
  binding::Timers& timers_;
  ManualClock& clock_;
  std::vector<std::unique_ptr<Attempt>> waiting_;
};

}  // namespace berth::app
