// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/pod.hpp"

/// Private to core/queue.
namespace berth::queue {

/// Which pods give way to others, because an attempt for one of their kind took long.
///
/// One thread decides for all pods. Upstream's order is by priority and age alone, so that a hundred pods of one tenant
/// whose attempts take seconds each (a search among devices up to its time limit, an extender that answers late) keep
/// all others waiting for minutes, and again after each back-off. Here an attempt of a second or more makes the pods of
/// its kind let others go first for as long as it took, a minute at most. They lose no time that no other pod wants, and
/// while others wait they get about half of the time at most: an attempt of theirs, then as long for the others. Each kind
/// by itself, so of two such kinds both come before. Attempts that are shorter change nothing.
///
/// A kind is a namespace, and what of the pods makes attempts dear: claims for devices, claims for volumes, affinity,
/// spreading. So a tenant's expensive pods do not hold up its plain ones either.
///
/// Budget: k_kinds_max kinds; of more, the first to end is dropped. Threads: those of the queue, one at a time.
class LongAttempts {
 public:
  static constexpr std::int64_t k_long_ns = 1'000'000'000;
  static constexpr std::int64_t k_give_way_max_ns = 60 * k_long_ns;
  static constexpr std::size_t k_kinds_max = 64;

  /// An attempt for this pod begins; one that is under way ends.
  void begin(const model::PodPtr& pod, std::int64_t now_ns) {
    end(now_ns);
    pod_ = pod;
    began_ns_ = now_ns;
  }
  /// The attempt that is under way ends, if any is.
  void end(std::int64_t now_ns) {
    if (pod_ == nullptr) return;
    if (const std::int64_t took_ns = now_ns - began_ns_; took_ns >= k_long_ns) [[unlikely]]
      note(kind_of(*pod_), now_ns, std::min(took_ns, k_give_way_max_ns));
    pod_ = nullptr;
  }
  /// The same, if it is one for this pod.
  void end(const model::PodPtr& pod, std::int64_t now_ns) {
    if (pod_ == pod) end(now_ns);
  }

  bool any() const noexcept { return !kinds_.empty(); }
  /// True when some kind need not give way any more.
  bool forget_ended(std::int64_t now_ns) {
    const bool dropped = std::exchange(has_dropped_, false);
    return std::erase_if(kinds_, [&](const Entry& each) { return each.until_ns <= now_ns; }) != 0 || dropped;
  }
  bool gives_way(const model::Pod& pod) const {
    const Kind kind = kind_of(pod);
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const Entry& each) { return each.kind == kind; });
  }
  /// Attempts of k_long_ns or more since the start.
  std::uint64_t count() const noexcept { return count_; }

 private:
  struct Kind {
    std::string ns;
    unsigned traits = 0;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  struct Entry {
    Kind kind;
    std::int64_t until_ns = 0;
  };

  static Kind kind_of(const model::Pod& pod) {
    const model::PodSpec& spec = *pod.spec;
    return {pod.ns.get(),
            unsigned{!spec.resource_claims.empty() || pod.asks_for_devices()} | unsigned{!pod.volumes.empty()} << 1 |
                unsigned{spec.affinity != model::PodAffinity{}} << 2 | unsigned{!spec.spread.empty()} << 3};
  }
  void note(Kind kind, std::int64_t now_ns, std::int64_t took_ns) {
    ++count_;
    std::erase_if(kinds_, [&](const Entry& each) { return each.kind == kind; });
    if (kinds_.size() == k_kinds_max) {
      kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(),
                                    [](const Entry& a, const Entry& b) { return a.until_ns < b.until_ns; }));
      has_dropped_ = true;
    }
    kinds_.push_back({std::move(kind), now_ns + took_ns});
  }

  model::PodPtr pod_;  // of the attempt that is under way
  std::int64_t began_ns_ = 0;
  std::vector<Entry> kinds_;
  bool has_dropped_ = false;
  std::uint64_t count_ = 0;
};

}  // namespace berth::queue
