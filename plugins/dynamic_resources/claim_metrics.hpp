// SPDX-License-Identifier: Apache-2.0
/// The policy's metrics, those of upstream under upstream's names. Threads: any.
/// Source: kubernetes v1.36 pkg/scheduler/metrics/metrics.go.
#pragma once
#include <berth/plugin.hpp>

#include <array>

namespace devices {

class ClaimMetrics {
 public:
  explicit ClaimMetrics(berth::Metrics metrics) : metrics_(metrics) {
    const std::uint32_t created = define(BERTH_METRIC_COUNTER, "scheduler_resourceclaim_creates_total",
                                         "[ALPHA] Number of ResourceClaims creations within scheduler", k_by_status);
    const berth_str success = berth::borrow("success"), failure = berth::borrow("failure");
    created_ = metrics_.series(created, {&success, 1});
    failed_ = metrics_.series(created, {&failure, 1});
    awaited_ =
        define(BERTH_METRIC_COUNTER, "scheduler_dra_bindingconditions_allocations_total",
               "[ALPHA] Number of devices with binding conditions whose wait has ended, by profile, driver and outcome",
               k_by_driver);
    wait_seconds_ = define(BERTH_METRIC_HISTOGRAM, "scheduler_dra_bindingconditions_wait_duration_seconds",
                           "[ALPHA] How long pods waited for binding conditions, by profile, driver and outcome",
                           k_by_driver, k_wait_seconds);
    kept_bytes_ = metrics_.series(
        define(BERTH_METRIC_GAUGE, "kept_searches_bytes",
               "Memory of the allocations that are kept for claims of the same shape, at most 64 MiB per profile", {}),
        {});
    selector_bytes_ = metrics_.series(
        define(BERTH_METRIC_GAUGE, "compiled_selectors_bytes",
               "Memory of the compiled selectors of devices, as large as their patterns may grow, at most 16 MiB", {}),
        {});
  }
  /// Of what is kept of searches.
  void set_kept_bytes(std::size_t bytes) const { metrics_.record(kept_bytes_, static_cast<double>(bytes)); }
  /// Of the cache of compiled selectors.
  void set_selector_bytes(std::size_t bytes) const { metrics_.record(selector_bytes_, static_cast<double>(bytes)); }
  void count_creation(bool is_good) const { metrics_.record(is_good ? created_ : failed_, 1); }
  /// A wait for binding conditions has ended, for a device of that driver. `status`: success, failure, timeout, error.
  void count_wait(std::string_view driver, std::string_view status, double wait_seconds, bool has_conditions) const {
    const std::array<berth_str, 3> labels = {berth_str{}, berth::borrow(driver), berth::borrow(status)};
    if (has_conditions) metrics_.record(metrics_.series(awaited_, labels), 1);
    metrics_.record(metrics_.series(wait_seconds_, labels), wait_seconds);
  }

 private:
  static constexpr std::array<berth_str, 1> k_by_status = {berth_str{"status", 6}};
  static constexpr std::array<berth_str, 3> k_by_driver = {berth_str{"profile", 7}, berth_str{"driver", 6},
                                                           berth_str{"status", 6}};
  static constexpr std::array<double, 14> k_wait_seconds = [] {
    std::array<double, 14> bounds{};
    double bound = 0.1;
    for (double& each : bounds) {
      each = bound;
      bound *= 2;
    }
    return bounds;
  }();

  std::uint32_t define(std::uint32_t kind, std::string_view name, std::string_view help,
                       std::span<const berth_str> labels, std::span<const double> buckets = {}) const {
    berth_metric_spec_v1 spec{};
    spec.kind = kind;
    spec.name = berth::borrow(name);
    spec.help = berth::borrow(help);
    spec.label_names = labels.data();
    spec.label_count = static_cast<std::uint32_t>(labels.size());
    spec.buckets = buckets.data();
    spec.bucket_count = static_cast<std::uint32_t>(buckets.size());
    return metrics_.define(spec);
  }

  berth::Metrics metrics_;
  std::uint32_t created_ = 0, failed_ = 0, awaited_ = 0, wait_seconds_ = 0, kept_bytes_ = 0, selector_bytes_ = 0;
};

}  // namespace devices
