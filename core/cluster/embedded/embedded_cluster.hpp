// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/symbols.hpp"
#include "cluster/cluster_reader.hpp"
#include "cluster/cluster_writer.hpp"
#include "decode/object_decoder.hpp"

namespace berth::cluster {

/// One write as it arrived, for tests and reports.
struct RecordedWrite {
  enum class Kind : std::uint8_t { bind, patch_status, patch_metadata, evict, event, patch_object, write_object };
  Kind kind = Kind::bind;
  PodRef pod;
  std::string node = {};  // bind
  PodStatusPatch status = {};
  PodMetadataPatch metadata = {};
  EventRecord event = {};
  ObjectRef object = {};   // patch_object, write_object; pod is empty then
  std::string patch = {};  // patch_object; write_object: the body
  Status outcome = Unit{};
  std::int64_t wall_ns = 0;  // when it arrived
};

/// A cluster in memory that behaves like an API server with a watch on it.
///
/// Place:     simulations and tests, as ClusterReader and ClusterWriter at once. put_… and remove_… are the outside
///            world. A write is judged and applied at once; its `done` and the change it made wait until deliver() runs
///            them, in that order: a driver decides when news arrives, and one thread gives the same run every time.
/// Ownership: keeps the objects; the sink must outlive it or stop().
/// Threads:   synchronises itself. Sink and `done` are called by the thread in deliver(), without any lock held.
/// Source:    kubernetes v1.36 pkg/registry/core/pod/storage/storage.go (binding: preconditions, PodScheduled=True,
///            nomination cleared). Departs: an evicted pod is gone at once unless `graceful_deletes` is set.
class EmbeddedCluster final : public ClusterReader, public ClusterWriter {
 public:
  struct Options {
    /// Evicted pods stay, with deletionTimestamp set, until finish_due_deletions() after their grace period.
    bool graceful_deletes = false;
    /// Keeps writes() (binds, patches, evictions, events). Off for long benchmarks.
    bool record_writes = true;
    /// Volumes and claims are bound and provisioned by a stand-in for the controllers that do it in a cluster:
    /// volume_controller.hpp.
    bool volume_controller = false;
    /// Claims are made from templates, and released by pods that go, by a stand-in: claim_controller.hpp.
    bool claim_controller = false;
    /// Asked about each write before it is looked at: the error that it is refused with, or none. `key`: "ns/name" of what
    /// is written. Called under the cluster's lock: it must not call the cluster. Empty: nothing is refused.
    std::function<std::optional<Error>(RecordedWrite::Kind kind, std::string_view key)> refuse = nullptr;
    /// Called, without a lock, when there is something to deliver. For drivers that sleep.
    std::function<void()> wake = nullptr;
  };
  EmbeddedCluster(SymbolTable& symbols, const Clock& clock) : EmbeddedCluster(symbols, clock, Options()) {}
  EmbeddedCluster(SymbolTable& symbols, const Clock& clock, Options options);
  ~EmbeddedCluster() override;

  // The outside world. put() adds, or replaces the object of that kind, namespace and name.
  void put(const decode::Decoded& object);
  void put_pod(model::PodPtr pod);
  void put_node(model::NodePtr node);
  void put_object(model::ObjectPtr object);
  /// False when there is no such object.
  bool remove_pod(std::string_view ns, std::string_view name);
  bool remove_node(std::string_view name);
  bool remove_object(std::string_view resource, std::string_view ns, std::string_view name);
  /// Removes the pods that an eviction left terminating and whose grace period is over by the clock.
  void finish_due_deletions();
  /// When the next of them is due, in Clock::monotonic_ns() time.
  std::optional<std::int64_t> next_deletion_ns() const;

  /// Runs what waits, including what that causes, until nothing does. Returns how many. Requires: not from inside a
  /// delivery.
  std::size_t deliver();
  std::size_t waiting() const;

  void start(ClusterSink& sink) override;
  void stop() noexcept override;

  void bind(const PodRef& pod, std::string_view node_name, Done done) override;
  void patch_pod_status(const PodRef& pod, const PodStatusPatch& patch, Done done) override;
  void patch_pod_metadata(const PodRef& pod, const PodMetadataPatch& patch, Done done) override;
  void evict(const PodRef& pod, Done done) override;
  void patch_object(const ObjectRef& object, std::string_view merge_patch_json, Done done) override;
  void write_object(const ObjectWrite& write, ObjectDone done) override;
  void record_event(const EventRecord& event, Done done) override;

  // What is there now.
  model::PodPtr find_pod(std::string_view ns, std::string_view name) const;
  model::NodePtr find_node(std::string_view name) const;
  model::ObjectPtr find_object(std::string_view resource, std::string_view ns, std::string_view name) const;
  /// In the order in which they were first put.
  std::vector<model::ObjectPtr> objects_of(std::string_view resource) const;
  std::vector<model::PodPtr> pods() const;
  std::vector<model::NodePtr> nodes() const;
  std::vector<RecordedWrite> writes() const;
  /// Bindings that were carried out so far.
  std::size_t bound_count() const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace berth::cluster
