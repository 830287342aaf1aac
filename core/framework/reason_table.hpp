// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "berth/abi/types.h"

namespace berth::framework {

/// Reason lists that plugins compose while they judge ("Too many pods" and "Insufficient cpu" on one node): one id per
/// distinct list. Ids carry k_composed, so that they differ from the ids of a plugin's own table.
/// Threads: synchronises itself; made on the failure path only.
class ReasonTable {
 public:
  static constexpr berth_reason k_composed = 0x80000000u;
  static constexpr std::size_t k_max_lists = 1 << 16;  // more in one cycle fold into "(too many reasons)"

  berth_reason make(std::vector<std::string> texts) {
    const Lock lock(mutex_);
    const auto it = ids_.find(texts);
    if (it != ids_.end()) return it->second;
    if (lists_.size() >= k_max_lists) texts = {"(too many reasons)"};
    const auto id = k_composed | static_cast<berth_reason>(lists_.size());
    const auto [at, added] = ids_.emplace(std::move(texts), id);
    if (added) lists_.push_back(&at->first);
    return at->second;
  }
  /// Requires: id carries k_composed and was made since the last clear(). Empty otherwise.
  std::span<const std::string> texts(berth_reason id) const {
    const Lock lock(mutex_);
    const std::size_t index = id & ~k_composed;
    return index < lists_.size() ? std::span<const std::string>(*lists_[index]) : std::span<const std::string>();
  }
  /// Forgets everything when there is much; between cycles only.
  void trim() {
    const Lock lock(mutex_);
    if (lists_.size() < k_max_lists / 16) return;
    lists_.clear();
    ids_.clear();
  }

 private:
  mutable Mutex mutex_;
  std::map<std::vector<std::string>, berth_reason> ids_ GUARDED_BY(mutex_);
  std::deque<const std::vector<std::string>*> lists_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
