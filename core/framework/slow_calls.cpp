// SPDX-License-Identifier: Apache-2.0
#include "framework/slow_calls.hpp"

#include <algorithm>
#include <cstdlib>

namespace berth::framework {
namespace {

// Ages are read one after the other, so the same beginning is not the same number at each look.
constexpr std::int64_t k_same_beginning_ns = 20'000'000;

}  // namespace

std::vector<SlowCalls::Slow> SlowCalls::look(const std::vector<OpenCall>& calls, std::int64_t now_ns) {
  std::vector<Seen> open;
  std::vector<Slow> slow;
  for (const OpenCall& call : calls) {
    Seen now{call, now_ns - call.age_ns, now_ns, false};
    const auto before = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& seen) {
      return seen.call.plugin == call.plugin && seen.call.point == call.point && seen.call.pod == call.pod &&
             std::abs(seen.whole_began_ns - now.whole_began_ns) <= k_same_beginning_ns;
    });
    if (before != seen_.end()) {
      now.since_ns = before->since_ns;
      now.is_told = before->is_told;
      seen_.erase(before);
    }
    if (!now.is_told && now_ns - now.since_ns >= limit_ns_) {
      now.is_told = true;
      slow.push_back({call, now_ns - now.since_ns});
    }
    open.push_back(std::move(now));
  }
  seen_ = std::move(open);
  if (slow.empty()) return slow;
  const Lock lock(mutex_);
  for (const Slow& one : slow) ++counts_[{one.call.plugin, one.call.point}];
  return slow;
}

std::map<std::pair<std::string, std::string>, std::uint64_t> SlowCalls::counts() const {
  const Lock lock(mutex_);
  return counts_;
}

}  // namespace berth::framework
