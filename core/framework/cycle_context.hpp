// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "framework/arena.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/view/pod_view.hpp"

namespace berth::framework {

/// Pods that are nominated to a node, as far as one incoming pod has to make room for them, in order of nomination.
using NominatedPods = std::map<cache::Slot, std::vector<model::PodPtr>>;

struct ProfileRuntime;
class CycleContext;

/// Why a pod may not be evicted for an attempt, whatever its priority ("of the same group"); null: it may.
using EvictionExemption = std::function<const char*(const model::Pod& pod)>;
/// What that says of a pod which would have to go.
inline std::string sparing(const model::Pod& pod, std::string_view why) {
  return fmt::format("pod {} {} would have to go, and stays", pod.key(), why);
}

/// What a plugin gets as `const berth_cycle_v1*`; services find the rest behind it.
struct InstanceCycle {
  berth_cycle_v1 abi{};
  CycleContext* owner = nullptr;
};

/// One attempt for one pod: the plugins' state slots, the pod as each of them sees it, and memory that lives as long.
///
/// Made by CyclePool for a cycle, carried through binding, given back when the pod is bound or failed.
/// Threads: one at a time (the scheduling thread, then binding).
class CycleContext {
 public:
  explicit CycleContext(const ProfileRuntime& profile);
  ~CycleContext();
  CycleContext(const CycleContext&) = delete;
  CycleContext& operator=(const CycleContext&) = delete;

  void begin(model::PodPtr pod, std::uint64_t pod_class, std::uint64_t cycle_id, const cache::Snapshot* snapshot);
  /// Frees plugin states; the context may begin() again.
  void end() noexcept;
  /// The pod has its node, and waits for others: frees what the search for it needed and no call reads any more.
  /// Memory of views goes to `spare`, for the next search: it is much, and given back to the heap while others keep theirs
  /// it would leave holes.
  void leave_search(Arena& spare) noexcept;
  /// There is no node for it: only the memory of views goes to `spare`.
  void give_views(Arena& spare) noexcept;
  /// Begins with that memory, if it is more than the context has.
  void use(Arena& spare) noexcept;
  /// The snapshot may move on from here: [binder] calls see no nodes.
  void leave_snapshot() noexcept;

  const ProfileRuntime& profile() const noexcept { return profile_; }
  const model::PodPtr& pod() const noexcept { return pod_; }
  std::uint64_t pod_class() const noexcept { return pod_class_; }
  std::uint64_t cycle_id() const noexcept { return cycle_id_; }
  /// Pods that are nominated to nodes, for searches during post-filter; null: none. The caller keeps it.
  void show_nominated(const framework::NominatedPods* nominated) noexcept { nominated_ = nominated; }
  const framework::NominatedPods* nominated() const noexcept { return nominated_; }
  /// The pods that searches during post-filter may not evict; null: none. The caller keeps it.
  void show_exemption(const EvictionExemption* exempt) noexcept { exempt_ = exempt; }
  const EvictionExemption* exemption() const noexcept { return exempt_; }
  Arena& arena() noexcept { return arena_; }
  /// For what is valid until the snapshot moves on: views of other pods, which may be as many as the cluster has. Bindings
  /// that are under way do without.
  Arena& snapshot_arena() noexcept { return snapshot_arena_; }
  /// The cycle as `plugin` sees it, with the pod filled in.
  berth_cycle_v1* abi(const PluginInstance& plugin);
  /// A copy for a what-if: same pod, `state` instead of the instance's own, DRY_RUN set.
  InstanceCycle what_if(const PluginInstance& plugin, void* state, std::uint32_t extra_flags = 0);

  /// What the calls of a filter with a budget have taken so far.
  std::int64_t& filter_spent_ns(const PluginInstance& plugin) noexcept { return filter_spent_ns_[plugin.ordinal()]; }
  bool skips_filter(const PluginInstance& plugin) const noexcept { return skip_filter_[plugin.ordinal()] != 0; }
  bool skips_score(const PluginInstance& plugin) const noexcept { return skip_score_[plugin.ordinal()] != 0; }
  void mark_skip_filter(const PluginInstance& plugin) noexcept { skip_filter_[plugin.ordinal()] = 1; }
  void mark_skip_score(const PluginInstance& plugin) noexcept { skip_score_[plugin.ordinal()] = 1; }

  /// FREE and CAPACITY columns of each resource of the pod, in view order.
  using ResourceColumns = cache::Snapshot::ResourceColumns;
  std::span<const ResourceColumns> resource_columns();

 private:
  void free_state(std::size_t ordinal) noexcept;

  const ProfileRuntime& profile_;
  model::PodPtr pod_;
  std::uint64_t pod_class_ = 0, cycle_id_ = 0;
  const framework::NominatedPods* nominated_ = nullptr;
  const EvictionExemption* exempt_ = nullptr;
  Arena arena_, snapshot_arena_;
  PodView view_;
  std::vector<InstanceCycle> cycles_;  // by ordinal
  std::vector<std::uint8_t> skip_filter_, skip_score_;
  std::vector<std::int64_t> filter_spent_ns_;  // by ordinal
  const ResourceColumns* resource_columns_ = nullptr;
  std::uint32_t resource_column_count_ = 0;
};

/// Keeps ended contexts for the next cycle, so that a cycle allocates nothing; not as many as there ever were at a time.
/// Threads: synchronises itself.
class CyclePool {
 public:
  struct Return {
    CyclePool* pool = nullptr;
    void operator()(CycleContext* context) const noexcept { pool->give_back(context); }
  };
  using Handle = std::unique_ptr<CycleContext, Return>;

  explicit CyclePool(const ProfileRuntime& profile) : profile_(profile) {}
  Handle take();
  static constexpr std::size_t k_idle_max = 64;
  std::size_t idle() const {
    const Lock lock(mutex_);
    return idle_.size();
  }

 private:
  void give_back(CycleContext* context) noexcept;
  const ProfileRuntime& profile_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<CycleContext>> idle_ GUARDED_BY(mutex_);
};

inline CycleContext& context_of(const berth_cycle_v1* cycle) noexcept {
  return *reinterpret_cast<const InstanceCycle*>(cycle)->owner;
}

}  // namespace berth::framework
