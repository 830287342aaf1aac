// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/symbols.hpp"
#include "cluster/binding_gate.hpp"
#include "cluster/cluster_reader.hpp"
#include "cluster/kube/read/reflector.hpp"

namespace berth::cluster::kube {

struct KubeReaderOptions {
  /// In addition to pods and nodes, as "apps/v1/replicasets".
  std::vector<std::string> resources = {};
  decode::DecodeOptions decode = {};
  net::HttpClientOptions client = {};
  ReflectorOptions reflector = {};
  /// Told of nodes before the sink is, and whether their watch is in step. May be null.
  std::shared_ptr<BindingGate> gate = {};
};

/// A live cluster as a ClusterReader: one reflector per resource, compared with what was there before, so that the sink
/// hears of each change once.
///
/// Ownership: keeps every pod, node and object as decoded; they are what find_pod() finds.
/// Lifetime:  I/O threads and symbols outlive it.
/// Threads:   find_… and progress() from any, also from inside the sink's calls and under the queue's lock; the sink is
///            called by one I/O thread at a time.
/// Failure:   none that ends it; see Reflector. A pod that cannot be read whole but has a node is told of as far as it
///            can be read; unless that is all that its node is charged with, the node is shown as one for no pods.
class KubeReader final : public ClusterReader {
 public:
  KubeReader(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, SymbolTable& symbols,
             KubeReaderOptions options);
  ~KubeReader() override;

  void start(ClusterSink& sink) override;
  void stop() noexcept override;

  /// As last seen; null when there is none.
  model::PodPtr find_pod(std::string_view ns, std::string_view name) const;
  /// All pods as last seen, in no particular order.
  std::vector<model::PodPtr> pods() const;
  /// All other objects but nodes, likewise.
  std::vector<model::ObjectPtr> objects() const;
  bool is_synced() const noexcept;
  /// Nodes that are shown as taking no pods, because a pod on them, or they themselves, cannot be read.
  std::size_t closed_nodes() const noexcept;
  /// Pods that cannot be read and may be on any node: until there are none, a node may be given too much.
  std::size_t unplaced_pods() const noexcept;
  /// Calls `done` once, on an I/O thread, when the sink knows what became of every pod that waited as last seen, and
  /// every claim and volume as it was when this was called: what a scheduler before this one may have written. Pods
  /// that came and got a node since the watch told last are told by it; if it is broken, by a snapshot within two
  /// minutes. Requires: synced. Never called when the server cannot be reached.
  void catch_up(std::function<void()> done);

  struct Progress {
    std::string resource;
    std::size_t objects = 0;
    bool is_synced = false;
    Reflector::Counts counts = {};
  };
  std::vector<Progress> progress() const;
  /// What is kept of pods so that others can share it.
  std::size_t sharing_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::cluster::kube
