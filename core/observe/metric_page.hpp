// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/metric_registry.hpp"

namespace berth::observe {

struct MetricSample {
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};
struct HistogramSample {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::uint64_t> counts;  // by bound, not summed up, and one for what lies beyond
  double sum = 0;
};

/// The upper bounds of a histogram's buckets: `first`, and each next one `factor` times the one before it, multiplied one
/// after another as Prometheus' ExponentialBuckets does.
template <std::size_t Count>
constexpr std::array<double, Count> exponential_bounds(double first, double factor) {
  std::array<double, Count> out{};
  for (double& bound : out) {
    bound = first;
    first *= factor;
  }
  return out;
}

/// Observations by upper bound, for histograms whose labels are only known as they come. Threads: the owner's.
template <std::size_t Bounds>
struct BucketCounts {
  std::array<std::uint64_t, Bounds + 1> counts{};  // as HistogramSample::counts
  double sum = 0;

  void add(const std::array<double, Bounds>& bounds, double value, std::uint64_t times = 1) {
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value);
    counts[static_cast<std::size_t>(bucket - bounds.begin())] += times;
    sum += value * static_cast<double>(times);
  }
  void add(const BucketCounts& more) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += more.counts[i];
    sum += more.sum;
  }
  HistogramSample sample(std::vector<std::pair<std::string, std::string>> labels) const {
    return {std::move(labels), {counts.begin(), counts.end()}, sum};
  }
};

/// What an operator does not want on the page.
struct MetricFilter {
  std::set<std::string, std::less<>> disabled;  // names of metrics
  /// By "metric,label": the values that are shown; others become "unexpected".
  std::map<std::string, std::set<std::string>, std::less<>> allowed_values;
};

/// One exposition of metrics under way: families from wherever, then the text.
/// Threads: one.
class MetricPage {
 public:
  MetricPage();
  ~MetricPage();
  MetricPage(MetricPage&&) noexcept;

  void add(MetricKind kind, std::string_view name, std::string_view help, std::vector<MetricSample> samples);
  void add_one(MetricKind kind, std::string_view name, std::string_view help, double value) {
    add(kind, name, help, {{{}, value}});
  }
  void add_histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                     std::vector<HistogramSample> samples);
  void add(const MetricRegistry& registry);

  /// How many families there are of each stability, which is the first word of their help: "STABLE", or "" for none.
  std::map<std::string, std::size_t> families_by_stability() const;
  /// Prometheus' text format, families by name; those without a sample are left out.
  std::string text(const MetricFilter& filter = {}) const;
  /// The same in the text form of OpenMetrics 1.0.
  std::string open_metrics(const MetricFilter& filter = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// process_cpu_seconds_total and the like, as the Prometheus client libraries name them; what /proc does not tell is
/// left out.
void add_process_metrics(MetricPage& page);

}  // namespace berth::observe
