// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "observe/call_counters.hpp"

namespace prometheus {
struct MetricFamily;
}

namespace berth::observe {

enum class MetricKind : std::uint8_t { counter = 1, gauge = 2, histogram = 3 };

struct MetricSpec {
  MetricKind kind = MetricKind::counter;
  std::string name;  // complete, as exported
  std::string help;
  std::vector<std::string> labels;
  std::vector<double> buckets;     // histogram: upper bounds, ascending
  std::uint32_t max_series = 100;  // further label combinations share the series whose labels are all "other"
  std::string owner = {};          // the plugin that defines it; empty: the program itself
};

/// The prefix of upstream's metrics. A plugin may take a name with it (a dashboard of kube-scheduler asks for that), but not one
/// under which the program itself counts.
inline constexpr std::string_view k_upstream_prefix = "scheduler_";

/// Metrics by number: families are defined at start, series resolved once, values recorded without a lock.
/// Time spent in plugins stays in the per-thread CallCounters and is folded in when metrics are read:
/// berth_plugin_calls_total and berth_plugin_call_seconds_total, by plugin and point.
/// Threads: any. Failure: define() refuses bad names, those that another owner has, and for plugins those of the program's own
/// metrics, whether they are defined yet or not.
class MetricRegistry {
 public:
  using Family = std::uint32_t;
  using Series = std::uint32_t;
  static constexpr std::size_t k_max_series = 1 << 16;

  /// `calls` outlives the registry.
  explicit MetricRegistry(const CallCounters& calls);
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  Result<Family> define(const MetricSpec& spec);
  /// Names of the family's labels; empty for an unknown family.
  std::vector<std::string> labels(Family family) const;
  /// values: one per label of the family. Fails for an unknown family or a wrong number of values.
  Result<Series> series(Family family, std::span<const std::string_view> values);
  /// Adds, sets or observes, as the family's kind says. Unknown series are ignored.
  void record(Series series, double value) noexcept;
  /// Prometheus text format.
  std::string render() const;

 private:
  friend std::vector<prometheus::MetricFamily> families_of(const MetricRegistry& registry);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::observe
