// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "cluster/cluster_writer.hpp"
#include "model/pod.hpp"
#include "net/http_client.hpp"

namespace berth::cluster::kube {

/// The pod as the cluster was last seen to have it, or null.
using FindPod = std::function<model::PodPtr(std::string_view ns, std::string_view name)>;

/// Sends events.k8s.io/v1 events, or core/v1 events to a server that has no others; repeats of one are folded into its
/// series.
///
/// The first of a kind is created, the second makes a series of it; further ones are counted here and written when the
/// series ends or every half an hour. Two events are of a kind when all but note and time is equal, the version of the
/// pod included. What would make a pod fit is no mere note: an API server refuses another note for an event that is there, so
/// events that say it are a kind of their own.
///
/// Lifetime: I/O threads, clock and what find_pod uses outlive it.
/// Threads:  any; never waits.
/// Bounds:   k_series_max series are known; of more, those go first that were seen once and longest ago. An event of one
///           that went is the first of its kind again.
/// Failure:  an event that the server refuses is gone; so is one that comes while a thousand wait.
/// Source:   kubernetes v1.36 staging/src/k8s.io/client-go/tools/events/event_broadcaster.go, and tools/record/event.go
///           for core/v1. Departs: repeats of core/v1 events are counted as series are, where upstream writes each of
///           them through a filter of its own; upstream knows every series of the last six minutes.
class EventRecorder {
 public:
  EventRecorder(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& clock, FindPod find_pod,
                std::string host_name, net::HttpClientOptions client);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void record(const EventRecord& event, ClusterWriter::Done done);
  /// Writes series that have ended, or are due, by the clock; forgets what is old. Called every minute by itself.
  void tidy();
  void stop() noexcept;

  static constexpr std::size_t k_series_max = 4096;

  struct Counts {
    std::uint64_t created = 0, patched = 0, folded = 0, dropped = 0;
  };
  Counts counts() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// RFC 3339 with microseconds (MicroTime) and with seconds (Time).
std::string micro_time(std::int64_t wall_ns);
std::string second_time(std::int64_t wall_ns);

}  // namespace berth::cluster::kube
