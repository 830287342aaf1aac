// SPDX-License-Identifier: Apache-2.0
/// Shared counters of pools: what is left of them, and what a search books.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../../../guarded.hpp"
#include "../allocated_state.hpp"
#include "../inventory.hpp"

namespace berth::dra {

/// Counters of a pool minus what its allocated devices consume; may be below zero. Immutable.
struct AvailableCounters {
  AvailableCounters(std::shared_ptr<const Pool> pool, const AllocatedState& state);
  /// -1: there is no such counter.
  std::int32_t find(std::string_view set, std::string_view counter) const;

  std::shared_ptr<const Pool> keeps_names;
  std::vector<std::pair<std::string_view, std::string_view>> names;  ///< set and counter, sorted
  std::vector<Nano> available;                                       ///< by name
};

/// By the name of the pool. Threads: any.
struct CounterTables {
  /// Makes the table at the first call with that name.
  std::shared_ptr<const AvailableCounters> of(const std::shared_ptr<const Pool>& pool, const AllocatedState& state);

  guarded::Mutex mutex;
  std::unordered_map<std::string_view, std::shared_ptr<const AvailableCounters>> by_pool_name GUARDED_BY(mutex);
};

/// What one search has booked of the counters of a pool's name.
class BookedCounters {
 public:
  struct Use {
    std::uint32_t counter = 0;
    Nano nano = 0;
  };

  explicit BookedCounters(std::shared_ptr<const AvailableCounters> table);
  /// Counters that the table does not have are not limited.
  std::vector<Use> resolve(const std::vector<CounterUse>& uses) const;
  /// False: some counter, booked by this device or not, is exceeded; nothing is booked then.
  bool book(const std::vector<Use>& uses);
  void give_back(const std::vector<Use>& uses);

 private:
  void change(const Use& use, Nano nano);

  std::shared_ptr<const AvailableCounters> table_;
  std::vector<Nano> booked_;
  std::size_t exceeded_ = 0;  ///< counters with less available than booked
};

}  // namespace berth::dra
