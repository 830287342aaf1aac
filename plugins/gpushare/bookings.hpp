// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "../shared/guarded.hpp"

namespace gpushare {

/// Which card a pod was given that does not say so itself yet. Any thread.
class Bookings {
 public:
  /// Pods that are bound are remembered until they are seen with their card; of more than so many, the oldest are not.
  static constexpr std::size_t k_bound_max = 4096;

  void put(std::string_view uid, std::uint32_t card) {
    const guarded::Lock lock(mutex_);
    cards_[std::string(uid)] = card;
  }
  std::optional<std::uint32_t> find(std::string_view uid) const {
    const guarded::Lock lock(mutex_);
    const auto found = cards_.find(uid);
    return found == cards_.end() ? std::nullopt : std::optional(found->second);
  }
  void erase(std::string_view uid) {
    const guarded::Lock lock(mutex_);
    if (const auto found = cards_.find(uid); found != cards_.end()) cards_.erase(found);
  }
  /// The pod is bound, and the cluster knows its card.
  void bound(std::string_view uid) {
    const guarded::Lock lock(mutex_);
    bound_.emplace_back(uid);
    if (bound_.size() <= k_bound_max) return;
    cards_.erase(bound_.front());
    bound_.pop_front();
  }
  std::size_t size() const {
    const guarded::Lock lock(mutex_);
    return cards_.size();
  }

 private:
  mutable guarded::Mutex mutex_;
  std::map<std::string, std::uint32_t, std::less<>> cards_ GUARDED_BY(mutex_);  // by uid
  std::deque<std::string> bound_ GUARDED_BY(mutex_);  // uids, the oldest first; some are erased
};

}  // namespace gpushare
