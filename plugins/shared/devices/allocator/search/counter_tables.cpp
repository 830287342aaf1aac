// SPDX-License-Identifier: Apache-2.0
#include "counter_tables.hpp"

#include <algorithm>

namespace berth::dra {

AvailableCounters::AvailableCounters(std::shared_ptr<const Pool> pool, const AllocatedState& state)
    : keeps_names(std::move(pool)) {
  std::vector<CounterUse> counters;
  for (const PreparedSlice* slice : keeps_names->counter_slices)
    counters.insert(counters.end(), slice->counters().begin(), slice->counters().end());
  std::sort(counters.begin(), counters.end(), [](const CounterUse& a, const CounterUse& b) {
    return std::pair(a.set, a.counter) < std::pair(b.set, b.counter);
  });
  for (const CounterUse& counter : counters) {
    names.emplace_back(counter.set, counter.counter);
    available.push_back(counter.nano);
  }
  for (const auto& slice : keeps_names->slices) {
    if (!slice->consumes_counters() || slice->has_counter_sets()) continue;
    for (const PreparedDevice& device : slice->devices()) {
      if (device.counters.empty() || !state.is_allocated(device.id)) continue;
      for (const CounterUse& use : device.counters)
        if (const std::int32_t at = find(use.set, use.counter); at >= 0) {
          Nano& left = available[static_cast<std::size_t>(at)];
          left = saturating_sum(left, -use.nano);
        }
    }
  }
}

std::int32_t AvailableCounters::find(std::string_view set, std::string_view counter) const {
  const std::pair wanted(set, counter);
  const auto found = std::lower_bound(names.begin(), names.end(), wanted);
  return found != names.end() && *found == wanted ? static_cast<std::int32_t>(found - names.begin()) : -1;
}

std::shared_ptr<const AvailableCounters> CounterTables::of(const std::shared_ptr<const Pool>& pool,
                                                           const AllocatedState& state) {
  const guarded::Lock lock(mutex);
  auto& table = by_pool_name[pool->name];
  // The key stands on the first pool of the name, which the table keeps.
  if (table == nullptr) table = std::make_shared<AvailableCounters>(pool, state);
  return table;
}

BookedCounters::BookedCounters(std::shared_ptr<const AvailableCounters> table)
    : table_(std::move(table)), booked_(table_->available.size()) {
  for (const Nano available : table_->available) exceeded_ += available < 0;
}

std::vector<BookedCounters::Use> BookedCounters::resolve(const std::vector<CounterUse>& uses) const {
  std::vector<Use> resolved;
  for (const CounterUse& use : uses)
    if (const std::int32_t at = table_->find(use.set, use.counter); at >= 0)
      resolved.push_back({static_cast<std::uint32_t>(at), use.nano});
  return resolved;
}

void BookedCounters::change(const Use& use, Nano nano) {
  const Nano available = table_->available[use.counter];
  Nano& booked = booked_[use.counter];
  exceeded_ -= available < booked;
  booked = saturating_sum(booked, nano);
  exceeded_ += available < booked;
}

bool BookedCounters::book(const std::vector<Use>& uses) {
  for (const Use& use : uses) change(use, use.nano);
  if (exceeded_ == 0) return true;
  give_back(uses);
  return false;
}

void BookedCounters::give_back(const std::vector<Use>& uses) {
  for (const Use& use : uses) change(use, -use.nano);
}

}  // namespace berth::dra
