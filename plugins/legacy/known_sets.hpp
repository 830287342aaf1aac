// SPDX-License-Identifier: Apache-2.0
/// What was found out about things with a number, as lists of volumes of nodes have one, until an object changes or a
/// number is used again.
///
/// Threads: [any], synchronises itself. Calls no other object with its lock.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace berth::legacy {

template <class Answer>
class KnownSets {
 public:
  using Known = std::shared_ptr<const Answer>;

  /// Forgets what may mean something else by now: other objects, other lists under the same numbers.
  void refresh(std::uint64_t epoch, std::uint64_t recycled) {
    const std::lock_guard lock(mutex_);
    if (epoch != epoch_ || recycled != recycled_) known_.clear();
    epoch_ = epoch;
    recycled_ = recycled;
  }

  /// read(set) finds it out.
  template <class Read>
  Known get(std::uint32_t set, Read&& read) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = known_.find(set); at != known_.end()) return at->second;
    }
    Known found = std::make_shared<const Answer>(read(set));
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(set, std::move(found)).first->second;
  }

 private:
  std::mutex mutex_;  // guards all below
  std::uint64_t epoch_ = 0;
  std::uint64_t recycled_ = 0;
  std::unordered_map<std::uint32_t, Known> known_;
};

}  // namespace berth::legacy
