// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <string_view>

#include "binding/attempt_observer.hpp"
#include "config/profile.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "observe/metric_page.hpp"

namespace berth::metrics {

/// What a scheduler records while it decides and binds, under upstream's names.
///
/// Place:   hears of attempts from binding and of cycles from Scheduler; live_metrics puts it on a page.
/// Threads: any; no lock after the first value of a series.
/// Source:  kubernetes v1.36 pkg/scheduler/metrics/metrics.go.
class SchedulerMetrics final : public binding::AttemptObserver {
 public:
  SchedulerMetrics(const config::Configuration& configuration, observe::MetricRegistry& registry,
                   observe::CallCounters& counters);

  void attempt_ended(const binding::AttemptEnd& end) noexcept override;
  void point_ended(const framework::ProfileRuntime& profile, binding::AsyncPoint point, framework::Code code,
                   std::int64_t duration_ns) noexcept override;
  void permit_waited(framework::Code code, std::int64_t duration_ns) noexcept override;
  /// A cycle chose a node, or none. On the scheduling thread.
  void choice_made(std::uint64_t ticks, const cycle::ReuseCounts& reuse) noexcept;
  void victims_chosen(std::size_t count) noexcept;
  /// The evictions of one preemption came to their end.
  void evictions_ended(bool failed, std::int64_t duration_ns) noexcept;

  std::uint64_t attempts(std::string_view profile, binding::AttemptResult result) const {
    return attempts_.count(profile, result);
  }
  std::uint64_t scheduled_after_flush() const { return attempts_.scheduled_after_flush(); }
  /// How often verdicts were reused, as of the last cycle.
  cycle::ReuseCounts reuse() const noexcept;

 private:
  using Family = observe::MetricRegistry::Family;
  using Series = observe::MetricRegistry::Series;
  static constexpr Series k_unknown = ~Series{0};
  static constexpr std::size_t k_attempt_labels = 15;  // "1" to "14", "15+"
  /// A series that exists from its first value on.
  using Late = std::atomic<Series>;
  struct PerProfile {
    std::string name;
    std::array<Late, 3> duration{k_unknown, k_unknown, k_unknown};  // by AttemptResult
  };

  Family define(observe::MetricKind kind, const char* name, const char* help, std::vector<std::string> labels = {},
                std::vector<double> buckets = {});
  Series only(Family family);
  void record(Late& series, Family family, std::initializer_list<std::string_view> labels, double value) noexcept;
  PerProfile* find(std::string_view profile) noexcept;

  observe::MetricRegistry& registry_;
  observe::CallCounters& counters_;
  binding::AttemptCounts attempts_;
  const Family attempt_seconds_, sli_seconds_, permit_seconds_, eviction_seconds_, evictions_ended_;
  const Series algorithm_seconds_, pod_attempts_, victims_;
  const double seconds_per_tick_;
  std::deque<PerProfile> profiles_;
  std::array<Late, k_attempt_labels> sli_;
  std::array<Late, 7> permit_;                                                                      // by Code
  std::array<Late, 2> eviction_durations_{k_unknown, k_unknown}, evictions_{k_unknown, k_unknown};  // success, error
  struct {
    std::atomic<std::uint64_t> reused{0}, diagnoses{0}, ranked{0}, evaluated{0}, violations{0}, bytes{0};
  } reuse_;  // of the last choice
};

}  // namespace berth::metrics
