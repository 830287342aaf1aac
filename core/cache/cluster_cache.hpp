// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "cache/assumption.hpp"
#include "cache/change_observer.hpp"
#include "cache/image_table.hpp"
#include "cache/node_row.hpp"
#include "cache/node_tree.hpp"
#include "cache/shapes.hpp"
#include "cache/snapshot.hpp"
#include "model/node.hpp"
#include "model/pod.hpp"

namespace berth::cache {

/// A pod as the cache believes it: `node` is where it is counted, also while only assumed.
struct CachedPod {
  model::PodPtr pod;
  Symbol node = 0;
  bool assumed = false;
};

struct CacheCounts {
  std::size_t nodes = 0;  // ghosts included
  std::size_t pods = 0;
  std::size_t assumed_pods = 0;
};

/// What the cache's tables take, as far as they could grow with what comes and goes.
struct CacheTables {
  std::size_t pod_slots = 0;            // of the pods, of those removed since the last refresh, and free ones
  std::size_t pod_slot_bytes = 0;       // of those and their index, without the pods
  std::size_t removed_pods = 0;         // still kept, for a snapshot that may name them
  std::size_t removed_bytes = 0;        // those pods, and nodes that are kept likewise
  std::size_t shapes = 0;               // ids, free ones included
  std::size_t shape_bytes = 0;          // without the pods that stand for them
  std::size_t resources = 0;            // names with a number
  std::size_t resource_bytes = 0;       // their numbers
  std::size_t unoffered_bytes = 0;      // amounts that pods ask for and no node offers
  std::uint64_t refused_resources = 0;  // how often a node's resource got no number: there are too many
  std::size_t list_bytes = 0;           // taints, labels, features, images, ports, volumes
  std::size_t column_bytes = 0;         // as of the last refresh
};

/// What a snapshot is brought up to date for. A question changes nothing about the decisions that follow.
enum class Look : std::uint8_t { decision, question };

/// The believed cluster: nodes with their pods, and pods that are on their way to a node.
///
/// Its place: ingest writes what the API server said, a cycle assumes, binding forgets; refresh() brings a Snapshot up
///            to date.
/// Ownership: keeps PodPtr and NodePtr alive; a pod handle stays valid until the refresh after its removal. What is
///            removed is kept until then; while the snapshot rests the cache refreshes it itself, so that replicas that
///            decide nothing keep nothing either.
/// Threads:   synchronises itself (one mutex, leaf of the lock order: it calls no other component).
/// Failure:   refused calls change nothing and say why, in upstream's words.
/// Source:    kubernetes v1.36 pkg/scheduler/backend/cache/cache.go. Departs: no fatal exit on a corrupted pod move;
///            the error is returned and the cached version is replaced.
class ClusterCache {
 public:
  explicit ClusterCache(SymbolTable& symbols);
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;
  ~ClusterCache();

  void add_node(model::NodePtr node);
  void update_node(model::NodePtr node);
  Status remove_node(const model::Node& node);

  /// The API server says that the pod is on pod->node_name: confirms an assumption or adds it.
  Status add_pod(model::PodPtr pod);
  Status update_pod(model::PodPtr pod);
  Status remove_pod(const model::Pod& pod);

  /// Counts the pod on a node before the API server has said so. Fails for a uid that is already there.
  Result<Assumption> assume(model::PodPtr pod, Symbol node_name, Assume how = Assume::decided);
  bool is_assumed(const model::Uid& uid) const;
  std::optional<CachedPod> find_pod(const model::Uid& uid) const;
  CacheCounts counts() const;
  CacheTables tables() const;
  model::NodePtr find_node(Symbol name) const;

  /// Brings the snapshot up to date: cost is the number of nodes that changed since. On how many nodes the images of a node
  /// are is counted when the first decision after a change of that node looks, and stays so until the next one, as it does in
  /// upstream's copies: tried pods, questions and rest are no changes.
  /// Requires: always the same snapshot.
  void refresh(Snapshot& snapshot, Look look = Look::decision);
  /// The snapshot is not read until the next refresh(): until then the cache brings it up to date on its own, on the
  /// thread that removes or replaces things, once per k_removals_at_rest of those, or per k_removed_bytes_at_rest.
  /// Requires: the snapshot lives as long as the cache is changed.
  void rest(Snapshot& snapshot);
  static constexpr std::size_t k_removals_at_rest = 128;
  static constexpr std::size_t k_removed_bytes_at_rest = std::size_t{4} << 20;
  /// Brings these nodes alone up to date, as far as they are in the snapshot: its owner changed them, and everything
  /// else is to stay as it was.
  void refresh_nodes(Snapshot& snapshot, std::span<const Slot> slots);
  /// The pod of a handle found in a row of the last refreshed snapshot.
  model::PodPtr pod(PodHandle handle) const;

  /// Null: none. Requires: it lives as long as the cache is changed; called before the first change.
  void tell(ChangeObserver* observer) noexcept { observer_ = observer; }
  /// All nodes in list order, and all pods; under the lock, as a ChangeObserver is called.
  void visit(const std::function<void(std::vector<model::NodePtr> nodes, std::vector<CachedPod> pods)>& use) const;

  ResourceTable& resources() noexcept { return resources_; }
  SharedLists& lists() noexcept { return lists_; }

 private:
  friend class Assumption;
  struct PodEntry {
    model::PodPtr pod;
    Slot slot = 0;
    ShapeId shape : 31 = 0;
    ShapeId assumed : 1 = 0;  // 1: not yet said by the API server

    void take(model::PodPtr counted, Slot on, ShapeId of, bool is_assumed) {
      pod = std::move(counted);
      slot = on;
      shape = of & 0x7fffffff;
      assumed = is_assumed ? 1 : 0;
    }
  };
  /// Hashes and compares handles as the uids of their pods, so that an index of uids is no copy of them.
  struct UidOf {
    using is_transparent = void;
    using is_avalanching = void;
    const model::Uid& uid(PodHandle handle) const { return (*pods)[handle].pod->uid; }
    std::size_t operator()(PodHandle handle) const noexcept { return uid(handle).hash(); }
    std::size_t operator()(const model::Uid& uid) const noexcept { return uid.hash(); }
    bool operator()(PodHandle a, PodHandle b) const noexcept { return a == b; }
    bool operator()(PodHandle a, const model::Uid& b) const noexcept { return uid(a) == b; }
    bool operator()(const model::Uid& a, PodHandle b) const noexcept { return uid(b) == a; }

    const std::vector<PodEntry>* pods;
  };
  enum class Presence : std::uint8_t { vacant, ghost, node };

  void forget(PodHandle handle, Assume how) noexcept REQUIRES(mutex_);
  void keep_port(Slot slot, const model::HostPort& port) REQUIRES(mutex_);
  Slot slot_for(Symbol name) REQUIRES(mutex_);
  /// The next snapshot takes the row.
  void mark_dirty(Slot slot) REQUIRES(mutex_);
  /// The node changed: the next snapshot takes the row, and the next decision counts its images.
  void mark_changed(Slot slot) REQUIRES(mutex_);
  void place(model::PodPtr pod, Slot slot, bool assumed, Assume how = Assume::decided) REQUIRES(mutex_);
  void displace(PodHandle handle, Assume how = Assume::decided) REQUIRES(mutex_);
  void mark(Slot slot, Assume how) REQUIRES(mutex_) { how == Assume::decided ? mark_changed(slot) : mark_dirty(slot); }
  void vacate_if_empty(Slot slot) REQUIRES(mutex_);
  void refresh_locked(Snapshot& snapshot) REQUIRES(mutex_);
  Snapshot::PodOf pod_of() REQUIRES(mutex_);
  void removed() REQUIRES(mutex_) {
    ++removals_;
    if (resting_ != nullptr && (removals_ >= k_removals_at_rest || removed_bytes_ >= k_removed_bytes_at_rest))
      refresh_locked(*resting_);
  }
  void offer_resources(const model::Node* before, const model::Node* after) REQUIRES(mutex_);
  void number_rows(Symbol name, ResourceIndex number) REQUIRES(mutex_);
  void forget_resources() REQUIRES(mutex_);
  void make_sets(Slot slot) REQUIRES(mutex_);
  void count_images(Look look) REQUIRES(mutex_);
  void release_vacant() REQUIRES(mutex_);
  std::size_t list_bytes() const REQUIRES(mutex_);
  void sweep_lists(const Snapshot& snapshot) REQUIRES(mutex_);
  const PodEntry* entry_of(const model::Uid& uid) const REQUIRES(mutex_);

  ChangeObserver* observer_ = nullptr;
  // Synchronise themselves.
  SymbolTable& symbols_;
  ResourceTable resources_;
  SharedLists lists_;

  mutable Mutex mutex_;
  ShapeTable shapes_ GUARDED_BY(mutex_);
  ImageTable images_ GUARDED_BY(mutex_);
  NodeTree tree_ GUARDED_BY(mutex_);
  std::vector<NodeRow> rows_ GUARDED_BY(mutex_);             // by slot
  std::vector<Symbol> names_ GUARDED_BY(mutex_);             // by slot
  std::vector<Presence> presence_ GUARDED_BY(mutex_);        // by slot
  std::vector<std::uint8_t> dirty_flag_ GUARDED_BY(mutex_);  // by slot
  std::vector<Slot> dirty_ GUARDED_BY(mutex_);
  std::vector<std::uint8_t> uncounted_flag_ GUARDED_BY(mutex_);  // by slot
  std::vector<Slot> uncounted_ GUARDED_BY(mutex_);               // changed since the last decision looked
  std::vector<Slot> vacant_ GUARDED_BY(mutex_);  // freed at the next refresh, unless the name comes back before
  std::vector<Slot> free_slots_ GUARDED_BY(mutex_);
  boost::unordered_flat_map<Symbol, Slot> by_name_ GUARDED_BY(mutex_);
  std::vector<PodEntry> pods_ GUARDED_BY(mutex_);  // by handle
  std::vector<PodHandle> free_handles_ GUARDED_BY(mutex_);
  std::vector<PodHandle> graveyard_ GUARDED_BY(mutex_);  // removed since the last refresh
  boost::unordered_flat_set<PodHandle, UidOf, UidOf> by_uid_ GUARDED_BY(mutex_);
  std::size_t assumed_count_ GUARDED_BY(mutex_) = 0;
  std::uint64_t next_generation_ GUARDED_BY(mutex_) = 1;
  static constexpr std::size_t k_swept_bytes = std::size_t{256} << 10;
  std::size_t sweep_threshold_bytes_ GUARDED_BY(mutex_) = k_swept_bytes;
  std::uint64_t symbol_generation_ GUARDED_BY(mutex_) = 0;
  std::vector<std::uint32_t> offers_ GUARDED_BY(mutex_);  // by resource: nodes that name it
  Snapshot* resting_ GUARDED_BY(mutex_) = nullptr;
  std::size_t removals_ GUARDED_BY(mutex_) = 0;       // and replacements, since the last refresh
  std::size_t removed_bytes_ GUARDED_BY(mutex_) = 0;  // of what is kept until the next one
  std::size_t column_bytes_ GUARDED_BY(mutex_) = 0;
  std::vector<ImageState> image_scratch_ GUARDED_BY(mutex_);
};

}  // namespace berth::cache
