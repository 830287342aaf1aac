// SPDX-License-Identifier: Apache-2.0
#include "observe/call_counters.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/check.hpp"
#include "base/guarded.hpp"
#include "observe/metric_page.hpp"

namespace berth::observe {
namespace {

constexpr auto k_plugin_bounds = exponential_bounds<20>(0.00001, 1.5);
constexpr auto k_run_bounds = exponential_bounds<12>(0.0001, 2);

/// How fast the cycle counter runs, by the steady clock; measured once, for two milliseconds.
double measure_ticks_per_second() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  const std::uint64_t first = ticks();
  Clock::time_point now = began;
  while (now - began < std::chrono::milliseconds(2)) now = Clock::now();
  return static_cast<double>(ticks() - first) / std::chrono::duration<double>(now - began).count();
}

double ticks_per_second() {
  static const double measured = measure_ticks_per_second();
  return measured;
}

std::atomic<std::uint64_t> next_serial{1};

struct ThreadCells {
  std::uint64_t serial = 0;
  std::size_t counters = 0;
  void* cells = nullptr;
};
thread_local ThreadCells t_cells;

std::uint64_t read(const std::uint64_t& value) {
  // Only const_cast away what atomic_ref cannot take; it is not written.
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(value)).load(std::memory_order_relaxed);
}

}  // namespace

std::span<const double> CallCounters::bounds_s(CallFamily family) noexcept {
  if (family == CallFamily::point_run) return k_run_bounds;
  return k_plugin_bounds;
}

CallCounters::CallCounters() : serial_(next_serial.fetch_add(1)), ticks_per_second_(ticks_per_second()) {
  for (const CallFamily family : {CallFamily::plugin_call, CallFamily::point_run}) {
    TickBounds& bounds = bounds_[static_cast<std::size_t>(family)];
    for (const double bound : bounds_s(family))
      bounds.ticks[bounds.count++] = static_cast<std::uint64_t>(bound * ticks_per_second_);
  }
}
CallCounters::~CallCounters() = default;

CallCounters::Id CallCounters::define_as(Name name) {
  const Lock lock(mutex_);
  const auto family = static_cast<std::size_t>(name.family);
  const bool full = names_.size() >= k_max_ids;
  if (full && others_[family]) return *others_[family];
  const Id id = static_cast<Id>(2 * names_.size() + family);
  if (full) {
    others_[family] = id;
    name = {name.family, "other", "other", "other"};
  }
  names_.push_back(std::move(name));
  return id;
}

CallCounters::Id CallCounters::define(std::string plugin, std::string point, std::string profile) {
  return define_as({CallFamily::plugin_call, std::move(profile), std::move(plugin), std::move(point)});
}

CallCounters::Id CallCounters::define_run(std::string profile, std::string point) {
  return define_as({CallFamily::point_run, std::move(profile), {}, std::move(point)});
}

void CallCounters::add_ns(Id id, std::int64_t elapsed_ns, std::uint32_t outcome) noexcept {
  add(id, static_cast<std::uint64_t>(static_cast<double>(elapsed_ns) * 1e-9 * ticks_per_second_), outcome);
}

CallCounters::Cell* CallCounters::cells_of_this_thread(std::size_t number) noexcept {
  if (t_cells.serial == serial_ && number < t_cells.counters) return static_cast<Cell*>(t_cells.cells);
  return more_cells(number);
}

CallCounters::Cell* CallCounters::more_cells(std::size_t number) noexcept {
  // A thread that alternates between two sets of counters gets a new shard each time; none of berth does. A counter that was
  // defined after the thread's shard was made leads to a larger one; readers sum up both.
  const Lock lock(mutex_);
  Shard shard;
  shard.counters = std::max(names_.size(), number + 1);
  shard.cells.reset(static_cast<Cell*>(std::calloc(shard.counters * k_outcomes, sizeof(Cell))));
  BERTH_CHECK(shard.cells != nullptr, "no memory for call counters");
  t_cells = {serial_, shard.counters, shard.cells.get()};
  shards_.push_back(std::move(shard));
  return static_cast<Cell*>(t_cells.cells);
}

std::vector<CallTotal> CallCounters::totals() const {
  std::map<std::pair<std::string, std::string>, CallTotal> by_name;  // profiles together
  const Lock lock(mutex_);
  for (std::size_t id = 0; id < names_.size(); ++id) {
    if (names_[id].family != CallFamily::plugin_call) continue;
    std::uint64_t calls = 0, spent = 0;
    for (const Shard& shard : shards_)
      for (std::size_t outcome = 0; id < shard.counters && outcome < k_outcomes; ++outcome) {
        const Cell& cell = shard.cells[id * k_outcomes + outcome];
        calls += read(cell.calls);
        spent += read(cell.ticks);
      }
    if (calls == 0) continue;
    CallTotal& total = by_name[{names_[id].plugin, names_[id].point}];
    total.plugin = names_[id].plugin;
    total.point = names_[id].point;
    total.calls += calls;
    total.seconds += static_cast<double>(spent) / ticks_per_second_;
  }
  std::vector<CallTotal> all;
  for (auto& [name, total] : by_name) all.push_back(std::move(total));
  return all;
}

std::vector<CallOutcome> CallCounters::outcomes() const {
  std::vector<CallOutcome> all;
  const Lock lock(mutex_);
  for (std::size_t id = 0; id < names_.size(); ++id) {
    const Name& name = names_[id];
    const std::size_t bucket_count = bounds_s(name.family).size() + 1;
    for (std::size_t outcome = 0; outcome < k_outcomes; ++outcome) {
      CallOutcome sum{name.family, name.profile, name.plugin, name.point, static_cast<std::uint8_t>(outcome), 0, 0, {}};
      sum.buckets.resize(bucket_count);
      std::uint64_t spent = 0;
      for (const Shard& shard : shards_) {
        if (id >= shard.counters) continue;
        const Cell& cell = shard.cells[id * k_outcomes + outcome];
        spent += read(cell.ticks);
        // The sum of the buckets, so that a call under way does not make the two disagree.
        for (std::size_t i = 0; i < bucket_count; ++i) {
          const std::uint64_t here = read(cell.buckets[i]);
          sum.buckets[i] += here;
          sum.calls += here;
        }
      }
      sum.seconds = static_cast<double>(spent) / ticks_per_second_;
      if (sum.calls != 0) all.push_back(std::move(sum));
    }
  }
  return all;
}

}  // namespace berth::observe
