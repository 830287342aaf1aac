// SPDX-License-Identifier: Apache-2.0
#include "inventory.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace berth::dra {
namespace {

bool has_repeated_device(const std::vector<PooledDevice>& devices) {
  std::unordered_set<std::uint32_t> seen;
  seen.reserve(devices.size());
  return !std::all_of(devices.begin(), devices.end(),
                      [&](const PooledDevice& each) { return seen.insert(each.device->id).second; });
}

std::string selector_error(const PreparedSlice& slice, const std::string& wrong) {
  return "gather pool information: failed to perform node selection for slice " + slice.object().name +
         ": failed to parse node selector: " + wrong;
}

/// The counters of a pool by set and name.
class CounterNames {
 public:
  /// False: a set occurs twice.
  bool add(const PreparedSlice& slice) {
    for (const CounterSet& set : slice.object().shared_counters)
      if (!sets_.insert(set.name).second) return false;
    for (const CounterUse& counter : slice.counters()) counters_.emplace(counter.set, counter.counter);
    return true;
  }
  bool has_all_of(const PreparedSlice& slice) const {
    for (const PreparedDevice& device : slice.devices()) {
      for (const CounterSet& set : device.object->consumes_counters)
        if (!sets_.contains(set.name)) return false;
      for (const CounterUse& use : device.counters)
        if (!counters_.contains({use.set, use.counter})) return false;
    }
    return true;
  }

 private:
  std::set<std::string_view> sets_;
  std::set<std::pair<std::string_view, std::string_view>> counters_;
};

}  // namespace

Inventory::Inventory(std::vector<std::shared_ptr<const PreparedSlice>> slices) : slices_(std::move(slices)) {
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> by_name;
  pool_of_slice_.reserve(slices_.size());
  for (std::uint32_t at = 0; at < slices_.size(); ++at) {
    const Slice& slice = slices_[at]->object();
    const auto [entry, is_new] =
        by_name.emplace(std::pair<std::string_view, std::string_view>(slice.driver, slice.pool), pools_.size());
    if (is_new)
      pools_.push_back({slice.driver, slice.pool, 0, slice.generation, 0, slices_[at]->pool_number(), 0, true, {}});
    PoolSlices& pool = pools_[entry->second];
    ++pool.slices;
    pool.counter_slices += slices_[at]->has_counter_sets();
    if (slice.generation > pool.generation) {
      pool.generation = slice.generation;
      pool.newest = 0;
    }
    if (slice.generation == pool.generation) ++pool.newest;
    if (slices_[at]->consumes_counters()) pool.consuming.push_back(at);
    pool_of_slice_.push_back(entry->second);
    if (!slice.nodes.node_name.empty() && slice.shared_counters.empty())
      on_node_[slice.nodes.node_name].push_back(at);
    else
      shared_.push_back(at);
  }
  whole_pools_.resize(pools_.size());
  counter_pools_.resize(pools_.size());
  find_plain_counters();
}

void Inventory::find_plain_counters() {
  std::unordered_map<std::string_view, std::size_t> with_counters;
  for (const PoolSlices& pool : pools_) with_counters[pool.name] += !pool.consuming.empty();
  for (std::size_t at = 0; at < slices_.size(); ++at) {
    PoolSlices& pool = pools_[pool_of_slice_[at]];
    if (pool.consuming.empty()) continue;
    if (with_counters[pool.name] > 1 || std::cmp_not_equal(pool.newest, pool.slices) ||
        std::cmp_not_equal(slices_[at]->object().slice_count, pool.slices))
      pool.has_plain_counters = false;
  }
}

std::string Inventory::is_relevant(const PreparedSlice& slice, const NodeLabels& node, bool& relevant) const {
  const Slice& object = slice.object();
  relevant = slice.has_counter_sets();
  if (relevant) return {};
  const NodeChoice& choice = object.nodes;
  if (!choice.node_name.empty() || choice.all_nodes || choice.selector) {
    relevant = slice.nodes().matches(node);
    return slice.nodes().error();
  }
  if (!object.per_device_node_selection) return {};
  for (const PreparedDevice& device : slice.devices()) {
    if (!device.nodes->error().empty()) return device.nodes->error();
    relevant = device.nodes->matches(node);
    if (relevant) break;
  }
  return {};
}

std::string Inventory::collect(const NodeLabels& node, std::vector<Collected>& collected) const {
  std::unordered_map<std::uint32_t, std::size_t> by_pool;
  const auto consider = [&](std::uint32_t at) -> std::string {
    const PreparedSlice& slice = *slices_[at];
    bool relevant = false;
    const std::string wrong = is_relevant(slice, node, relevant);
    if (!wrong.empty()) return selector_error(slice, wrong);
    if (!relevant) return {};
    const auto [entry, is_new] = by_pool.emplace(pool_of_slice_[at], collected.size());
    if (is_new) collected.push_back({pool_of_slice_[at], {}});
    std::vector<std::uint32_t>& slices = collected[entry->second].slices;
    const std::int64_t generation = slice.object().generation;
    const std::int64_t newest = slices.empty() ? generation : slices_[slices.front()]->object().generation;
    if (generation < newest) return {};
    if (generation > newest) slices.clear();
    slices.push_back(at);
    return {};
  };
  if (const auto local = on_node_.find(node.node_name()); local != on_node_.end()) {
    for (const std::uint32_t at : local->second)
      if (std::string wrong = consider(at); !wrong.empty()) return wrong;
  }
  for (const std::uint32_t at : shared_)
    if (std::string wrong = consider(at); !wrong.empty()) return wrong;
  return {};
}

/// Where the pool is kept that other nodes see just so; null: they may see others of its slices.
std::vector<std::shared_ptr<const Pool>>* Inventory::kept_pools(const Collected& collected) const {
  const PoolSlices& all = pools_[collected.pool];
  if (collected.slices.size() == all.slices) return &whole_pools_;
  const bool has_all_counters = collected.slices.size() == all.counter_slices;
  const auto is_counters = [this](std::uint32_t at) { return slices_[at]->has_counter_sets(); };
  return has_all_counters && std::all_of(collected.slices.begin(), collected.slices.end(), is_counters)
             ? &counter_pools_
             : nullptr;
}

std::shared_ptr<const Pool> Inventory::pool_of(const Collected& collected) const {
  const Slice& first = slices_[collected.slices.front()]->object();
  const PoolSlices& all = pools_[collected.pool];
  std::vector<std::shared_ptr<const Pool>>* const kept = kept_pools(collected);
  if (kept != nullptr) {
    const guarded::Lock lock(mutex_);
    if ((*kept)[collected.pool] != nullptr) return (*kept)[collected.pool];
  }
  std::vector<std::uint32_t> others;
  std::shared_ptr<const Pool> made;
  if (std::cmp_not_equal(collected.slices.size(), first.slice_count)) {
    if (all.generation > first.generation) return nullptr;
    if (all.newest != first.slice_count) {
      auto marker = std::make_shared<Pool>();
      marker->driver = all.driver;
      marker->name = all.name;
      marker->number = all.number;
      marker->condition = Pool::Condition::incomplete;
      // The names are the slice's.
      marker->slices.push_back(slices_[collected.slices.front()]);
      made = std::move(marker);
    } else {
      const std::unordered_set<std::uint32_t> seen(collected.slices.begin(), collected.slices.end());
      for (const std::uint32_t at : all.consuming)
        if (slices_[at]->object().generation == first.generation && !seen.contains(at)) others.push_back(at);
    }
  }
  // Made without the lock: two threads may do the same work, none waits for the other.
  if (made == nullptr) made = build(collected, others);
  if (kept == nullptr) return made;
  const guarded::Lock lock(mutex_);
  if ((*kept)[collected.pool] == nullptr) (*kept)[collected.pool] = std::move(made);
  return (*kept)[collected.pool];
}

std::shared_ptr<const Pool> Inventory::build(const Collected& collected, std::span<const std::uint32_t> others) const {
  auto pool = std::make_shared<Pool>();
  pool->driver = pools_[collected.pool].driver;
  pool->name = pools_[collected.pool].name;
  pool->number = pools_[collected.pool].number;
  pool->has_plain_counters = pools_[collected.pool].has_plain_counters;
  for (const std::uint32_t at : collected.slices) pool->slices.push_back(slices_[at]);
  std::stable_sort(pool->slices.begin(), pool->slices.end(),
                   [](const auto& a, const auto& b) { return a->object().name < b->object().name; });
  CounterNames counters;
  bool is_valid = true;
  for (const auto& slice : pool->slices) {
    if (slice->has_counter_sets()) {
      pool->counter_slices.push_back(slice.get());
      is_valid = counters.add(*slice) && is_valid;
      continue;
    }
    pool->has_binding_conditions = pool->has_binding_conditions || slice->has_binding_conditions();
    for (const PreparedDevice& device : slice->devices()) pool->devices.push_back({slice.get(), &device});
  }
  const std::size_t count = pool->slices.size();
  for (const std::uint32_t at : others) pool->slices.push_back(slices_[at]);
  is_valid = is_valid && !has_repeated_device(pool->devices);
  for (std::size_t i = 0; is_valid && i < pool->slices.size(); ++i) {
    // Counter slices that the node does not see have no devices to speak of.
    if (i < count && pool->slices[i]->has_counter_sets()) continue;
    is_valid = counters.has_all_of(*pool->slices[i]);
  }
  if (!is_valid) {
    pool->condition = Pool::Condition::invalid;
    pool->has_binding_conditions = false;
    pool->devices.clear();
    pool->counter_slices.clear();
  }
  return pool;
}

/// Empty, or what is wrong with a selector.
std::string Inventory::judge_devices(const NodeLabels& node, NodePools& gathered) {
  std::uint32_t position = 0;
  for (const auto& pool : gathered.pools) {
    for (const PooledDevice& each : pool->devices) {
      const NodeMatcher* nodes = each.device->nodes.get();
      if (nodes != nullptr && !nodes->error().empty()) return selector_error(*each.slice, nodes->error());
      if (nodes != nullptr && !nodes->matches(node)) {
        if (gathered.reachable.empty()) gathered.reachable.resize(gathered.positions(), true);
        gathered.reachable[position] = false;
      }
      ++position;
    }
  }
  return {};
}

std::shared_ptr<const NodePools> Inventory::gather(const Node& node) const {
  const NodeLabels labels(node);
  auto gathered = std::make_shared<NodePools>();
  gathered->node_name = node.name;
  std::vector<Collected> collected;
  gathered->error = collect(labels, collected);
  if (gathered->error.empty()) {
    for (const Collected& each : collected)
      if (auto pool = pool_of(each)) gathered->pools.push_back(std::move(pool));
  }
  std::sort(gathered->pools.begin(), gathered->pools.end(), [](const auto& a, const auto& b) {
    return std::tie(a->has_binding_conditions, a->driver, a->name) <
           std::tie(b->has_binding_conditions, b->driver, b->name);
  });
  static std::atomic<std::uint64_t> serials{0};
  gathered->serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;
  gathered->is_reusable = true;
  std::uint32_t next = 0;
  for (const auto& pool : gathered->pools) {
    if (!pool->devices.empty()) {
      gathered->is_reusable = gathered->is_reusable && pool->has_plain_counters;
      gathered->numbers.push_back(pool->number);
    }
    gathered->first_position.push_back(next);
    next += static_cast<std::uint32_t>(pool->devices.size());
    gathered->has_invalid_pool = gathered->has_invalid_pool || pool->condition == Pool::Condition::invalid;
  }
  gathered->first_position.push_back(next);
  if (gathered->error.empty()) gathered->error = judge_devices(labels, *gathered);
  gathered->is_reusable = gathered->is_reusable && gathered->error.empty();
  return gathered;
}

}  // namespace berth::dra
