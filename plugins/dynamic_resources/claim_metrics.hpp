// SPDX-License-Identifier: Apache-2.0
/// The policy's metrics.
#pragma once
#include <berth/plugin.hpp>

namespace dynamic_resources {

class ClaimMetrics {
 public:
  explicit ClaimMetrics(berth::Metrics metrics) : metrics_(metrics) {
    static constexpr berth_str k_labels[] = {{"status", 6}};
    berth_metric_spec_v1 spec{};
    spec.kind = BERTH_METRIC_COUNTER;
    spec.name = berth::borrow("resourceclaim_creates_total");
    spec.help = berth::borrow("Claims that were created for extended resources, by status");
    spec.label_names = k_labels;
    spec.label_count = 1;
    const std::uint32_t family = metrics_.define(spec);
    const berth_str success = berth::borrow("success"), failure = berth::borrow("failure");
    created_ = metrics_.series(family, {&success, 1});
    failed_ = metrics_.series(family, {&failure, 1});
    berth_metric_spec_v1 kept{};
    kept.kind = BERTH_METRIC_GAUGE;
    kept.name = berth::borrow("kept_searches_bytes");
    kept.help = berth::borrow(
        "Memory of the allocations that are kept for claims of the same shape, at most 64 MiB per profile");
    kept_bytes_ = metrics_.series(metrics_.define(kept), {});
  }
  /// Of what is kept of searches.
  void set_kept_bytes(std::size_t bytes) const { metrics_.record(kept_bytes_, static_cast<double>(bytes)); }
  void count_creation(bool is_good) const { metrics_.record(is_good ? created_ : failed_, 1); }

 private:
  berth::Metrics metrics_;
  std::uint32_t created_ = 0, failed_ = 0, kept_bytes_ = 0;
};

}  // namespace dynamic_resources
