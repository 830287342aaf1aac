// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "serving/salted_digest.hpp"

namespace berth::access {

/// What reviews said, by the SHA-256 of what was asked, salted for this process. What was used longest ago goes first, so
/// that the whole never takes more than its budget.
/// Threads: the owner's.
template <typename T>
class ReviewCache {
 public:
  using Key = serving::SaltedDigest::Value;
  /// Longer texts have no key: nothing is kept about them, as of kube-apiserver.
  static constexpr std::size_t k_text_bytes_max = 10'000;
  struct Entry {
    Key key{};
    std::int64_t until_ns = 0;
    std::size_t bytes = 0;
    T value{};
  };

  /// An answer that was not asked for since `stale_ns` after it expired is forgotten.
  ReviewCache(std::size_t bytes_max, std::int64_t stale_ns) : bytes_max_(bytes_max), stale_ns_(stale_ns) {}

  /// Nothing: too long, or OpenSSL cannot.
  std::optional<Key> key_of(std::string_view text) const {
    return text.size() > k_text_bytes_max ? std::nullopt : digest_.of(text);
  }
  /// What was answered last, perhaps expired; null: nothing that is known any more. Until the next call.
  const Entry* find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &entries_.front();
  }
  /// `value_bytes` are those outside of T itself.
  void keep(const Key& key, T value, std::size_t value_bytes, std::int64_t until_ns, std::int64_t now_ns) {
    forget(key);
    const std::size_t bytes = k_entry_bytes + value_bytes;
    while (!entries_.empty() && (bytes_ + bytes > bytes_max_ || entries_.back().until_ns + stale_ns_ < now_ns)) {
      ++dropped_;
      forget(Key(entries_.back().key));
    }
    if (bytes > bytes_max_) return;
    entries_.push_front({key, until_ns, bytes, std::move(value)});
    by_key_.emplace(key, entries_.begin());
    bytes_ += bytes;
  }

  std::size_t size() const noexcept { return entries_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  /// Of a list node and a map node, with what the allocator adds.
  static constexpr std::size_t k_entry_bytes = sizeof(Entry) + 16 + 16 + sizeof(Key) + 8 + 32 + 16;

  void forget(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    bytes_ -= found->second->bytes;
    entries_.erase(found->second);
    by_key_.erase(found);
  }

  const std::size_t bytes_max_;
  const std::int64_t stale_ns_;
  const serving::SaltedDigest digest_;
  std::list<Entry> entries_;  // used last, first
  std::map<Key, typename std::list<Entry>::iterator> by_key_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

/// How many reviews are asked for on behalf of callers whom no review has let in lately: some at once, some a second.
/// Threads: the owner's.
class StrangerReviews {
 public:
  static constexpr int k_at_once = 4, k_per_second = 20, k_burst = 100;

  /// True when one may be asked for, which end() ends.
  bool begin(std::int64_t now_ns) {
    if (asked_ns_ < now_ns) {
      left_ = std::min<double>(k_burst, left_ + static_cast<double>(now_ns - asked_ns_) * 1e-9 * k_per_second);
      asked_ns_ = now_ns;
    }
    if (under_way_ >= k_at_once || left_ < 1) {
      ++refused_;
      return false;
    }
    left_ -= 1;
    ++under_way_;
    return true;
  }
  void end() { --under_way_; }
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  double left_ = k_burst;
  std::int64_t asked_ns_ = 0;
  int under_way_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace berth::access
