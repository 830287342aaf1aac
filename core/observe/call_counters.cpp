// SPDX-License-Identifier: Apache-2.0
#include "observe/call_counters.hpp"

#include <chrono>

#include "base/check.hpp"

namespace berth::observe {
namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
std::atomic<std::uint64_t> next_serial{1};

struct ThreadCells {
  std::uint64_t serial = 0;
  void* cells = nullptr;
};
thread_local ThreadCells t_cells;

}  // namespace

CallCounters::CallCounters() : serial_(next_serial.fetch_add(1)), start_ticks_(ticks()), start_ns_(now_ns()) {}
CallCounters::~CallCounters() = default;

CallCounters::Id CallCounters::define(std::string plugin, std::string point) {
  const std::lock_guard lock(mutex_);
  BERTH_CHECK(names_.size() < k_max_ids, "more than {} call counters", k_max_ids);
  names_.emplace_back(std::move(plugin), std::move(point));
  return static_cast<Id>(names_.size() - 1);
}

CallCounters::Cell* CallCounters::cells_of_this_thread() noexcept {
  if (t_cells.serial != serial_) {
    // A thread that alternates between two sets of counters gets a new shard each time; nobody does.
    const std::lock_guard lock(mutex_);
    shards_.push_back(std::make_unique<Shard>());
    t_cells = {serial_, shards_.back()->cells};
  }
  return static_cast<Cell*>(t_cells.cells);
}

std::vector<CallTotal> CallCounters::totals() const {
  const std::lock_guard lock(mutex_);
  const double elapsed_ticks = static_cast<double>(ticks() - start_ticks_);
  const double seconds_per_tick = elapsed_ticks > 0 ? static_cast<double>(now_ns() - start_ns_) * 1e-9 / elapsed_ticks : 0;
  std::vector<CallTotal> all;
  for (std::size_t id = 0; id < names_.size(); ++id) {
    CallTotal total{names_[id].first, names_[id].second, 0, 0};
    std::uint64_t spent = 0;
    for (const auto& shard : shards_) {
      total.calls += shard->cells[id].calls.load(std::memory_order_relaxed);
      spent += shard->cells[id].ticks.load(std::memory_order_relaxed);
    }
    total.seconds = static_cast<double>(spent) * seconds_per_tick;
    if (total.calls != 0) all.push_back(std::move(total));
  }
  return all;
}

}  // namespace berth::observe
