// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/change_observer.hpp"
#include "cache/cluster_cache.hpp"
#include "cache/snapshot.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "framework/framework.hpp"
#include "observe/call_counters.hpp"
#include "queue/nomination.hpp"
#include "queue/ticket.hpp"
#include "recording/recorder.hpp"

namespace berth::scheduler {

/// What a decision depends on and what comes of it, as records in the order in which the one saw the other.
///
/// Place:   between cache, nominations and cycle on one side and the recorder on the other.
/// Threads: as ChangeObserver; the rest on the scheduling thread, but add_state(): any.
class DecisionRecording final : public cache::ChangeObserver {
 public:
  /// All outlive it.
  DecisionRecording(recording::Recorder& recorder, const cache::ClusterCache& cache, const cache::Snapshot& snapshot)
      : recorder_(recorder), cache_(cache), snapshot_(snapshot) {}

  void node_put(const model::NodePtr& node) noexcept override;
  void node_removed(const model::NodePtr& node) noexcept override;
  void pod_put(const model::PodPtr& pod) noexcept override;
  void pod_removed(const model::Pod& pod) noexcept override;
  void pod_given_back(const model::Pod& pod) noexcept override;
  void snapshot_taken() noexcept override;

  /// The same nominations; what a decision sees of them is recorded where it is new.
  /// Both outlive what it returns.
  std::unique_ptr<queue::Nominations> watched(queue::Nominations& nominations);
  /// `pod`: the ticket's; taken over, as to become one more owner costs as much as the rest. `attempt`: what is known before;
  /// filled up here, as what was just written is slow to copy. `began_ns`: when the attempt began, by the recorder's clock;
  /// absent: it took no time.
  void attempt(const queue::Ticket& ticket, model::PodPtr pod, const cycle::Outcome& outcome,
               recording::Attempt&& attempt, const framework::Framework& framework,
               std::optional<std::int64_t> began_ns = {});

  /// The whole cluster; `others`: pods without a node, and objects.
  void add_state(recording::WholeCluster others) const;

 private:
  class WatchedNominations;
  void saw(const std::vector<model::NominatedPod>& nominated);
  void add(recording::Kind kind, std::string text = {}) const noexcept;

  recording::Recorder& recorder_;
  const cache::ClusterCache& cache_;
  const cache::Snapshot& snapshot_;
  std::vector<model::NominatedPod> last_nominated_;
};

/// What calls into plugins took so far, of all profiles together. Threads: any.
std::vector<recording::PluginTime> plugin_times_of(const observe::CallCounters& counters);

}  // namespace berth::scheduler
