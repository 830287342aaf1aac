// SPDX-License-Identifier: Apache-2.0
#include "framework/cycle_context.hpp"

#include <utility>

#include "base/guarded.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {
namespace {

constexpr std::size_t k_kept_bytes_max = 256 * 1024;  // of an ended context, from one snapshot to the next

}  // namespace

CycleContext::CycleContext(const ProfileRuntime& profile)
    : profile_(profile),
      cycles_(profile.instances.size()),
      skip_filter_(profile.instances.size(), 0),
      skip_score_(profile.instances.size(), 0),
      filter_spent_ns_(profile.instances.size(), 0) {}

CycleContext::~CycleContext() { end(); }

void CycleContext::begin(model::PodPtr pod, std::uint64_t pod_class, std::uint64_t cycle_id,
                         const cache::Snapshot* snapshot) {
  pod_ = std::move(pod);
  pod_class_ = pod_class;
  cycle_id_ = cycle_id;
  nominated_ = nullptr;
  exempt_ = nullptr;
  arena_.reset();
  snapshot_arena_.reset();
  view_.reset(*pod_, arena_);
  resource_columns_ = nullptr;
  std::fill(skip_filter_.begin(), skip_filter_.end(), std::uint8_t{0});
  std::fill(skip_score_.begin(), skip_score_.end(), std::uint8_t{0});
  std::fill(filter_spent_ns_.begin(), filter_spent_ns_.end(), std::int64_t{0});
  for (std::size_t i = 0; i < cycles_.size(); ++i) {
    InstanceCycle& cycle = cycles_[i];
    cycle.owner = this;
    // A plugin that sees the pod's identity sees something that its class does not determine.
    const bool sees_identity = (profile_.instances[i]->fields().groups & BERTH_POD_IDENTITY) != 0;
    cycle.abi = {sizeof(berth_cycle_v1),
                 0,
                 cycle_id,
                 0,
                 sees_identity ? 0 : pod_class,
                 nullptr,
                 nullptr,
                 snapshot != nullptr ? snapshot->nodes() : nullptr,
                 snapshot != nullptr ? snapshot->word_count() : 0,
                 snapshot != nullptr ? snapshot->node_count() : 0,
                 snapshot != nullptr ? snapshot->slot_count() : 0};
  }
}

void CycleContext::end() noexcept {
  for (std::size_t i = 0; i < cycles_.size(); ++i) free_state(i);
  pod_.reset();
  if (snapshot_arena_.bytes() > k_kept_bytes_max) snapshot_arena_.release();
}

void CycleContext::free_state(std::size_t ordinal) noexcept {
  void*& state = cycles_[ordinal].abi.state;
  if (state == nullptr) return;
  const PluginInstance& plugin = *profile_.instances[ordinal];
  if (plugin.prepare != nullptr && plugin.prepare->state_free != nullptr) {
    const observe::BreadcrumbNesting nesting;  // the attempt may end inside a call of a plugin
    observe::enter_plugin(plugin.crumb(), observe::Point::state_free);
    try {
      plugin.prepare->state_free(plugin.self(), state);
    } catch (...) {  // the state is lost; the pod's outcome stands
    }
  }
  state = nullptr;
}

void CycleContext::use(Arena& spare) noexcept {
  if (spare.bytes() <= snapshot_arena_.bytes()) return;
  std::swap(snapshot_arena_, spare);
  snapshot_arena_.reset();
}

void CycleContext::leave_search(Arena& spare) noexcept {
  for (std::size_t i = 0; i < cycles_.size(); ++i)
    if (profile_.after_search.calls[i] == 0) free_state(i);
  if (!profile_.after_search.reads_shapes) give_views(spare);
}

void CycleContext::give_views(Arena& spare) noexcept {
  if (snapshot_arena_.bytes() > spare.bytes()) std::swap(snapshot_arena_, spare);
  snapshot_arena_.release();
}

void CycleContext::leave_snapshot() noexcept {
  snapshot_arena_.release();
  for (InstanceCycle& cycle : cycles_) {
    cycle.abi.nodes = nullptr;
    cycle.abi.word_count = 0;
    cycle.abi.node_count = 0;
    cycle.abi.slot_count = 0;
  }
}

berth_cycle_v1* CycleContext::abi(const PluginInstance& plugin) {
  berth_cycle_v1& cycle = cycles_[plugin.ordinal()].abi;
  if (cycle.pod == nullptr) cycle.pod = view_.view(plugin.fields());
  return &cycle;
}

InstanceCycle CycleContext::what_if(const PluginInstance& plugin, void* state, std::uint32_t extra_flags) {
  InstanceCycle copy{*abi(plugin), this};
  copy.abi.state = state;
  copy.abi.flags |= BERTH_CYCLE_DRY_RUN | extra_flags;
  return copy;
}

std::span<const CycleContext::ResourceColumns> CycleContext::resource_columns() {
  if (resource_columns_ == nullptr) {
    const Host& host = profile_.instances.front()->host();
    const auto resources = view_.resources();
    auto* const out = arena_.array<ResourceColumns>(resources.size());
    for (std::size_t i = 0; i < resources.size(); ++i) {
      const cache::ResourceIndex r =
          i < cache::k_first_scalar ? static_cast<cache::ResourceIndex>(i) : host.resources.find(resources[i].name);
      out[i] = host.snapshot.resource_columns(r);
    }
    resource_columns_ = out;
    resource_column_count_ = static_cast<std::uint32_t>(resources.size());
  }
  return {resource_columns_, resource_column_count_};
}

CyclePool::Handle CyclePool::take() {
  {
    const Lock lock(mutex_);
    if (!idle_.empty()) {
      CycleContext* const context = idle_.back().release();
      idle_.pop_back();
      return Handle(context, Return{this});
    }
  }
  return Handle(new CycleContext(profile_), Return{this});
}

void CyclePool::give_back(CycleContext* context) noexcept {
  context->end();
  std::unique_ptr<CycleContext> ended(context);
  const Lock lock(mutex_);
  if (idle_.size() < k_idle_max) idle_.push_back(std::move(ended));
}

}  // namespace berth::framework
