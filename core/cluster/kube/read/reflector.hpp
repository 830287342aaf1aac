// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/kube/read/undecodable.hpp"
#include "decode/object_decoder.hpp"
#include "net/http_client.hpp"

namespace berth::cluster::kube {

/// Where the objects of one resource are, and how they are asked for.
struct ResourceTarget {
  std::string resource;        // "core/v1/pods"
  std::string field_selector;  // empty: all objects
  /// "/api/v1/pods", "/apis/apps/v1/replicasets".
  std::string path() const;
};

/// What a reflector tells: the collection as it is, then every change of it. The server's repetitions are passed on;
/// who listens compares. Threads: one reflector calls from one thread at a time.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  /// Everything that exists is about to be delivered.
  virtual void snapshot_started() = 0;
  /// The object is there, in this state. `in_snapshot`: between snapshot_started() and snapshot_ended().
  virtual void present(decode::Decoded object, bool in_snapshot) = 0;
  virtual void absent(const decode::ObjectIdentity& gone) = 0;
  /// An object is there, and cannot be read whole. In a snapshot, or with a name.
  virtual void unreadable(decode::Remains object, bool in_snapshot) = 0;
  /// What was not present since snapshot_started() is gone.
  virtual void snapshot_ended() = 0;
  /// The snapshot did not come to its end; the next starts from the beginning.
  virtual void snapshot_failed() = 0;
  /// The server has no such resource: as good as an empty collection, for now.
  virtual void not_served() = 0;
};

struct ReflectorOptions {
  bool streaming_lists = true;
  std::size_t page_items = 500;
  double backoff_initial_s = 0.8, backoff_max_s = 30;
  /// While no connection can be made, or watches break off, waits grow to that only: a try costs the server little, and
  /// what waits for it is the scheduling of all pods. (Departs from upstream, where they grow to 30 s as well.)
  double away_max_s = 2;
  /// A watch that was open for that long was a good one: the failure that ends it is the first again. (Restarts of the
  /// server that are minutes apart would otherwise add up to waits of a minute.)
  std::chrono::milliseconds good_watch{10'000};
  /// A watch that brings neither an event nor a bookmark for that long is ended, and opened again from the version that
  /// was seen last: servers send a bookmark once a minute, and one may be late.
  std::chrono::milliseconds watch_silence_max{100'000};
  /// What is asked for of resources that have a layout in protobuf; the others are asked for as JSON.
  std::string accept = "application/json";
  /// Hears whether the watch is in step: it tells of changes as they come, and what it missed while it was broken has
  /// been told. False at first. Called as the sink is; quick. Empty: nothing is asked of the server for it.
  std::function<void(bool in_step)> on_step = {};
  /// A watch that was away for less is in step as soon as it is open again: what it missed comes at once. After more,
  /// it is once it has come to the version that the server has then, or a snapshot was taken, or after 30 seconds.
  std::chrono::milliseconds short_gap{1000};
};

/// Follows one resource: a snapshot, streamed or in pages, then a watch, resumed from where it broke, and a new
/// snapshot when the server has forgotten that place.
///
/// Place:    one per resource, made by KubeReader; decodes on the I/O threads.
/// Lifetime: runs from start() until stop() or the end of the I/O threads; keeps sink and decoder alive that long. What
///           the decoder refers to outlives the I/O threads.
/// Threads:  start() and stop() from one thread; the sink is not called after stop() returned.
/// Failure:  never ends; every failure is logged once per change of its kind and tried again after a back-off.
///           An object that cannot be read is counted, named once in the log and told as unreadable; the stream goes on.
///           A watch that tells of what has no name, or of too much that cannot be read, is given up for a new snapshot.
/// Source:   kubernetes v1.36 staging/src/k8s.io/client-go/tools/cache/reflector.go. Departs: objects of a snapshot are
///           delivered while they arrive, so a snapshot that fails half-way has been seen in part; a resource that is
///           not served does not keep the others from being in sync; a good watch and a server that is away end or
///           bound the growth of the back-off.
class Reflector {
 public:
  Reflector(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, ResourceTarget target,
            std::shared_ptr<ReflectorSink> sink, std::shared_ptr<const decode::ObjectDecoder> decoder,
            const net::HttpClientOptions& client, ReflectorOptions options);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  void stop() noexcept;
  /// Calls `done` on an I/O thread once the sink knows everything that the server had written when this was called:
  /// asks for the newest version and waits until the watch has come to it, or, when it has not after `patience`, takes
  /// a new snapshot. (A watch of objects that do not change tells its version once a minute.) Never called when the server
  /// cannot be reached. Threads: any.
  void catch_up(std::function<void()> done, std::chrono::milliseconds patience);

  struct Counts {
    std::uint64_t snapshots = 0, watches = 0, events = 0, bookmarks = 0, failures = 0, back_offs = 0;
    UndecodableCounts undecodable{};
  };
  Counts counts() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::cluster::kube
