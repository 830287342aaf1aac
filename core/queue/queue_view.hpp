// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.hpp"
#include "model/nomination.hpp"
#include "model/plugin_set.hpp"
#include "model/pod.hpp"

namespace berth::queue {

/// Where a pod is.
enum class Place : std::uint8_t {
  nowhere,
  active,         // ready, waits for its turn
  backoff,        // rejected before, waits for its back-off to end
  error_backoff,  // failed for another reason than a rejection, waits likewise
  unschedulable,  // waits for an event that may help, or is gated
  in_flight,      // handed out
};

/// One pod of the queue as it stood when asked. Times are wall clock, 0 when there is none.
struct PendingPod {
  model::PodPtr pod;
  Place place = Place::nowhere;
  std::uint32_t attempts = 0;
  std::uint32_t unschedulable_count = 0;
  std::uint32_t error_count = 0;  // in a row
  std::uint64_t pod_class = 0;
  std::int64_t enqueued_ns = 0;
  std::int64_t first_attempt_ns = 0;  // first entry into the active queue
  std::int64_t backoff_until_ns = 0;  // the pod leaves its back-off after the second that begins here
  model::PluginSet unschedulable_plugins, pending_plugins;
  model::PluginIndex gate = model::k_no_plugin;
  std::string gate_message;
  bool gated() const noexcept { return gate != model::k_no_plugin; }
};

/// How many are where; `unschedulable` and `gated` split the unschedulable pool.
struct QueueSizes {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0;
  std::size_t logged_events = 0;  // events kept for pods in flight
  std::size_t logged_bytes = 0;   // what they and their objects take
};

/// Counts since start by event label ("AssignedPodDelete", "BackoffComplete", ...).
struct IncomingCount {
  std::string label;
  std::uint64_t active = 0, backoff = 0, unschedulable = 0;
  std::int64_t logged = 0;  // now in the in-flight log
};
/// Pods that wait because of a plugin.
struct RejectorCount {
  std::uint16_t profile = 0;  // number of the profile in the hint table
  model::PluginIndex plugin = model::k_no_plugin;
  std::int64_t pods = 0;
};
struct QueueCounts {
  std::vector<IncomingCount> incoming;
  std::vector<RejectorCount> rejectors;
  std::uint64_t pops = 0;
  std::uint64_t long_attempts = 0;  // of a second or more: pods of their kind gave way to others
};

/// What may wake a pod; hints may still say no.
struct WakingEvent {
  model::ClusterEvent event;  // perhaps with several actions
  /// When set, the event is of whichever watches follow these objects: "core/v1/services".
  std::string_view watched = {};
};

/// The queue as explain, debug and metrics see it: reads, never changes anything.
/// Threads: any; each call is one consistent picture.
class QueueView {
 public:
  virtual ~QueueView() = default;
  /// Every pod of the queue, in flight included, in order of arrival.
  virtual std::vector<PendingPod> pending_pods() const = 0;
  /// Pods nominated to a node; those of one node in order of nomination.
  virtual std::vector<model::NominatedPod> nominations() const = 0;
  virtual QueueSizes sizes() const = 0;
  virtual QueueCounts counts() const = 0;
  /// A pod that waits for an event is tried without one when it has waited for so long, or before. Constant.
  virtual std::int64_t leftover_limit_ns() const noexcept = 0;
  /// What may wake a pod of that scheduler name which `rejectors` rejected; events may come twice. Constant.
  virtual std::vector<WakingEvent> waking_events(std::string_view scheduler_name,
                                                 const model::PluginSet& rejectors) const = 0;
};

}  // namespace berth::queue
