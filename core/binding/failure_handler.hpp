// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <string>
#include <string_view>

#include "base/symbols.hpp"
#include "binding/attempt_observer.hpp"
#include "binding/explained_events.hpp"
#include "cluster/cluster_writer.hpp"
#include "framework/verdict.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::binding {

/// Why an attempt failed, and what is to become of the pod's nomination.
struct Failure {
  framework::Code code = framework::Code::error;  // a rejection or an error; skip fails silently
  std::string message;                            // whole
  queue::Rejectors rejectors;                     // empty unless no node fitted or reserve or permit rejected
  model::Nomination nomination = model::Nomination::clear();
  bool says_once = false;     // no event when the pod's condition says the same already
  std::int64_t began_ns = 0;  // the attempt's cycle, in queue time
  bool has_no_nodes = false;  // the cluster has none
  bool announced = false;     // a nomination was written in this attempt, which the cluster may not show yet
};

/// "0/1 nodes are available: 1 no." for a verdict about the one node a pod was placed on.
std::string one_node_message(const framework::Verdict& verdict);

/// The first 1020 bytes and " ..." of a message longer than 1024 bytes.
std::string event_note(std::string_view message);

/// The way back of a pod whose attempt failed: into the queue, then nomination, event and condition.
///
/// Place:    the loop calls it for attempts that found no node or were rejected by reserve or permit, Binder for the
///           rest.
/// Lifetime: all references outlive it.
/// Threads:  any, concurrently for different pods. Takes no lock of its own.
/// Failure:  failed writes are logged; the pod is in the queue by then.
/// Source:   kubernetes v1.36 pkg/scheduler/schedule_one.go (handleSchedulingFailure). Departs: a '%' in a message
///           stays as it is in the event.
class FailureHandler {
 public:
  /// `explained`: adds what would make a pod fit to events of pods that wait for long; null: no event says that.
  FailureHandler(queue::SchedulingQueue& queue, queue::PodLookup lookup, cluster::ClusterWriter& writer,
                 const SymbolTable& symbols, AttemptObserver& attempts, ExplainedEvents* explained = nullptr);

  void handle(queue::Ticket ticket, const Failure& failure, std::string_view profile);

  /// From here on tickets just end: this process decides no more, and the next leader begins from the start.
  void stop_reporting() noexcept { silent_ = true; }

  /// The note of an attempt that was not made because the pod is being deleted; the ticket ends.
  void skip_deleting(queue::Ticket ticket, std::string_view profile);

 private:
  static model::PodCondition condition_of(const Failure& failure);
  static void log(const model::Pod& pod, const Failure& failure);
  void emit(const model::Pod& pod, ExplainedEvents::Note note, std::string_view profile);
  /// `nominated`: the node that the pod was nominated before.
  void patch(const model::PodPtr& pod, const Failure& failure, Symbol nominated);

  queue::SchedulingQueue& queue_;
  const queue::PodLookup lookup_;
  cluster::ClusterWriter& writer_;
  const SymbolTable& symbols_;
  AttemptObserver& attempts_;
  ExplainedEvents* const explained_;
  std::atomic<bool> silent_{false};
};

}  // namespace berth::binding
