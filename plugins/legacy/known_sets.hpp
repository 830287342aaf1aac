// SPDX-License-Identifier: Apache-2.0
/// What was found out about things with a number, as lists of volumes of nodes have one, until an object changes or a
/// number is used again.
///
/// Threads: [any], synchronises itself. Calls no other object with its lock.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "../shared/guarded.hpp"

namespace berth::legacy {

template <class Answer>
class KnownSets {
 public:
  using Known = std::shared_ptr<const Answer>;

  /// Forgets what may mean something else by now: other objects, other lists under the same numbers.
  void refresh(std::uint64_t epoch, std::uint64_t recycled) {
    const guarded::Lock lock(mutex_);
    if (epoch != epoch_ || recycled != recycled_) known_.clear();
    epoch_ = epoch;
    recycled_ = recycled;
  }

  /// read(set) finds it out.
  template <class Read>
  Known get(std::uint32_t set, Read&& read) {
    {
      const guarded::Lock lock(mutex_);
      if (const auto at = known_.find(set); at != known_.end()) return at->second;
    }
    Known found = std::make_shared<const Answer>(read(set));
    const guarded::Lock lock(mutex_);
    return known_.try_emplace(set, std::move(found)).first->second;
  }

 private:
  guarded::Mutex mutex_;
  std::uint64_t epoch_ GUARDED_BY(mutex_) = 0;
  std::uint64_t recycled_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint32_t, Known> known_ GUARDED_BY(mutex_);
};

}  // namespace berth::legacy
