// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/guarded.hpp"

namespace berth::observe {

/// Reads a cheap cycle counter. Ticks become seconds only when the totals are read.
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

/// What is counted: single calls into a plugin, or runs of an extension point over all its plugins.
enum class CallFamily : std::uint8_t { plugin_call, point_run };

/// The calls of one counter that ended alike.
struct CallOutcome {
  CallFamily family = CallFamily::plugin_call;
  std::string profile, plugin, point;
  std::uint8_t outcome = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
  std::vector<std::uint64_t> buckets;  // by CallCounters::bounds_s(), and one for what took longer
};

/// Time spent in every plugin call, all calls and not a sample: each thread adds to cells of its own, readers sum up.
///
/// Place:   one per process part that calls plugins; ids are made at start, before other threads call.
/// Threads: add() from any thread without locks or shared cache lines; totals() and outcomes() at any time, values of
///          running threads may be a few calls behind.
class CallCounters {
 public:
  using Id = std::uint32_t;  // twice the number of the counter, plus its family
  /// Some 400 profiles of all plugins. Whatever is defined beyond shares one counter per family, named "other".
  static constexpr std::size_t k_max_ids = 65'536;
  /// Outcomes are small numbers of the caller's; larger ones share the last.
  static constexpr std::size_t k_outcomes = 8;
  static constexpr std::size_t k_bounds_max = 20;

  CallCounters();
  ~CallCounters();
  CallCounters(const CallCounters&) = delete;
  CallCounters& operator=(const CallCounters&) = delete;

  Id define(std::string plugin, std::string point, std::string profile = {});
  Id define_run(std::string profile, std::string point);
  void add(Id id, std::uint64_t elapsed_ticks, std::uint32_t outcome = 0) noexcept {
    const std::size_t number = id / 2;
    Cell& cell = cells_of_this_thread(number)[number * k_outcomes + (outcome < k_outcomes ? outcome : k_outcomes - 1)];
    const TickBounds& bounds = bounds_[id % 2];
    std::size_t bucket = 0;
    while (bucket < bounds.count && elapsed_ticks > bounds.ticks[bucket]) ++bucket;
    increase(cell.calls, 1);
    increase(cell.ticks, elapsed_ticks);
    increase(cell.buckets[bucket], 1);
  }
  void add_ns(Id id, std::int64_t elapsed_ns, std::uint32_t outcome) noexcept;
  /// Calls into plugins, all outcomes together; those that never happened are left out.
  std::vector<CallTotal> totals() const;
  /// Everything that happened.
  std::vector<CallOutcome> outcomes() const;
  double seconds_per_tick() const noexcept { return 1 / ticks_per_second_; }
  /// Upper bounds of the buckets, as upstream's metrics have them.
  static std::span<const double> bounds_s(CallFamily family) noexcept;

 private:
  struct Cell {
    std::uint64_t calls, ticks;
    std::uint64_t buckets[k_bounds_max + 1];
  };
  struct TickBounds {
    std::size_t count = 0;
    std::array<std::uint64_t, k_bounds_max> ticks{};
  };
  struct Name {
    CallFamily family;
    std::string profile, plugin, point;
  };
  struct Freed {
    void operator()(Cell* cells) const noexcept { std::free(cells); }
  };
  /// Cells of the counters from 0 on. Untouched pages of it cost nothing.
  struct Shard {
    std::size_t counters = 0;
    std::unique_ptr<Cell[], Freed> cells;
  };

  /// One writer per cell.
  static void increase(std::uint64_t& value, std::uint64_t by) noexcept {
    const std::atomic_ref<std::uint64_t> shared(value);
    shared.store(shared.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  /// Requires: a number that was defined.
  Cell* cells_of_this_thread(std::size_t number) noexcept;
  Cell* more_cells(std::size_t number) noexcept;
  Id define_as(Name name);

  const std::uint64_t serial_;  // tells counters apart in the threads' caches
  const double ticks_per_second_;
  std::array<TickBounds, 2> bounds_;  // by family
  mutable Mutex mutex_;
  std::vector<Name> names_ GUARDED_BY(mutex_);
  std::array<std::optional<Id>, 2> others_ GUARDED_BY(mutex_);  // by family
  std::vector<Shard> shards_ GUARDED_BY(mutex_);
};

}  // namespace berth::observe
