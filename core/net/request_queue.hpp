// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "net/http_client.hpp"

// Internal to clients.
namespace berth::net {

/// Requests that wait for their turn. Those of higher priority go first, equal ones as they came; but once the one that
/// waits longest has waited for `patience`, it is the next of every tenth that goes: a steady flow of high priority
/// slows the others down tenfold, and never stops them.
/// Costs a logarithm of those that wait. Threads: one at a time.
class RequestQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Waiting {
    TimePoint since;
    Request request;
  };
  using Numbered = std::pair<std::uint64_t, Waiting>;

  bool empty() const noexcept { return by_number_.empty(); }
  std::size_t size() const noexcept { return by_number_.size(); }
  void clear() noexcept {
    by_number_.clear();
    order_.clear();
  }
  /// Of the one that waits longest. Requires: one waits.
  TimePoint oldest_since() const { return by_number_.begin()->second.since; }

  /// `number`: in the order in which requests came.
  void add(std::uint64_t number, Waiting waiting) {
    order_.insert(place_of(number, waiting));
    by_number_.emplace(number, std::move(waiting));
  }
  /// Requires: one waits.
  Numbered take(TimePoint now, std::chrono::milliseconds patience) {
    const auto oldest = by_number_.begin();
    std::uint64_t number = order_.begin()->second;
    const bool is_due = passed_over_ >= k_passed_over_max && oldest->second.since + patience <= now;
    if (number == oldest->first || is_due) {
      number = oldest->first;
      passed_over_ = 0;
    } else {
      ++passed_over_;
    }
    return {number, *remove(number)};
  }
  /// Nothing: it does not wait here.
  std::optional<Waiting> remove(std::uint64_t number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return std::nullopt;
    order_.erase(place_of(number, found->second));
    std::optional<Waiting> out(std::move(found->second));
    by_number_.erase(found);
    return out;
  }

 private:
  using Place = std::pair<std::int64_t, std::uint64_t>;  // higher priorities are less
  static constexpr int k_passed_over_max = 9;

  static Place place_of(std::uint64_t number, const Waiting& waiting) {
    return {-std::int64_t{waiting.request.priority}, number};
  }

  std::map<std::uint64_t, Waiting> by_number_;
  std::set<Place> order_;
  int passed_over_ = 0;  // that went since, while an older one waited
};

}  // namespace berth::net
