// SPDX-License-Identifier: Apache-2.0
// PrioritySort: higher priority first; among equals, who has waited longer.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/queuesort.
#include <berth/plugin.hpp>

namespace {

class PrioritySort {
 public:
  static constexpr berth::Identity identity{.name = "PrioritySort",
                                            .version = "1.0.0",
                                            .summary = "Orders the queue by priority, then by time of arrival.",
                                            .deps = BERTH_DEP_POD_SPEC};
  /// Rejects nothing, so no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit PrioritySort(berth::Setup& setup) { setup.pod_fields(BERTH_POD_PRIORITY); }

  /// Keys compare as unsigned words, smaller first: flipping the sign bit keeps the order of signed numbers, inverting
  /// all bits reverses it.
  std::array<std::uint64_t, 2> key(const berth::QueuedPod& queued) const {
    constexpr std::uint64_t k_sign = std::uint64_t{1} << 63;
    const auto priority = static_cast<std::uint64_t>(queued.pod().priority()) ^ k_sign;
    const auto enqueued = static_cast<std::uint64_t>(queued.enqueued_ns()) ^ k_sign;
    return {~priority, enqueued};
  }
};

}  // namespace

BERTH_PLUGIN(PrioritySort)
