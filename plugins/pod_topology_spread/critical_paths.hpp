// SPDX-License-Identifier: Apache-2.0
/// The two smallest pod counts over the domains of a constraint, kept current while what-if pods come and go.
///
/// Only the smaller one is asked for; the other is what remains when the smaller one grows. It is upstream's
/// bookkeeping, with its blind spot: a third domain is not remembered, so after several changes the minimum may be out
/// of date. Source: kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go (criticalPaths).
#pragma once
#include <berth/types.hpp>

#include <cstdint>
#include <limits>
#include <utility>

namespace berth::pod_topology_spread {

class CriticalPaths {
 public:
  static constexpr std::int64_t k_none = std::numeric_limits<std::int32_t>::max();

  /// `value` is the domain's label value. The slots start out as the empty one, which a real domain of that name meets.
  void update(Id value, std::int64_t count) noexcept {
    if (value == low_.value) {
      low_.count = count;
      order();
    } else if (value == next_.value) {
      next_.count = count;
      order();
    } else if (count < low_.count) {
      next_ = low_;
      low_ = {value, count};
    } else if (count < next_.count) {
      next_ = {value, count};
    }
  }
  std::int64_t lowest() const noexcept { return low_.count; }
  std::int64_t second() const noexcept { return next_.count; }

 private:
  struct Path {
    Id value = BERTH_ID_EMPTY;
    std::int64_t count = k_none;
  };
  void order() noexcept {
    if (low_.count > next_.count) std::swap(low_, next_);
  }
  Path low_;
  Path next_;
};

}  // namespace berth::pod_topology_spread
