// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace berth::observe {

/// Reads a cheap cycle counter. Ticks become seconds only when somebody reads the totals.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(__builtin_readcyclecounter());
#endif
}

struct CallTotal {
  std::string plugin, point;
  std::uint64_t calls = 0;
  double seconds = 0;
};

/// Time spent in every plugin call, all calls and not a sample: each thread adds to cells of its own, readers sum up.
///
/// Place:   one per process part that calls plugins; ids are made at start, before other threads call.
/// Threads: add() from any thread without locks or shared cache lines; totals() at any time, values of running threads may
///          be a few calls behind.
class CallCounters {
 public:
  using Id = std::uint32_t;
  static constexpr std::size_t k_max_ids = 2048;

  CallCounters();
  ~CallCounters();
  CallCounters(const CallCounters&) = delete;
  CallCounters& operator=(const CallCounters&) = delete;

  Id define(std::string plugin, std::string point);
  void add(Id id, std::uint64_t elapsed_ticks) noexcept {
    Cell& cell = cells_of_this_thread()[id];
    cell.calls.store(cell.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    cell.ticks.store(cell.ticks.load(std::memory_order_relaxed) + elapsed_ticks, std::memory_order_relaxed);
  }
  std::vector<CallTotal> totals() const;

 private:
  struct Cell {
    std::atomic<std::uint64_t> calls{0}, ticks{0};
  };
  struct Shard {
    Cell cells[k_max_ids];
  };
  Cell* cells_of_this_thread() noexcept;

  const std::uint64_t serial_;  // tells counters apart in the threads' caches
  const std::uint64_t start_ticks_;
  const std::int64_t start_ns_;
  mutable std::mutex mutex_;  // guards names_ and the list of shards
  std::vector<std::pair<std::string, std::string>> names_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace berth::observe
