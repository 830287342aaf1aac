// SPDX-License-Identifier: Apache-2.0
#include "metrics/scheduler_metrics.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "observe/metric_page.hpp"

namespace berth::metrics {
namespace {

using observe::MetricKind;

template <std::size_t Count>
std::vector<double> exponential(double first, double factor) {
  const auto bounds = observe::exponential_bounds<Count>(first, factor);
  return {bounds.begin(), bounds.end()};
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

constexpr std::string_view result_name(binding::AttemptResult result) {
  switch (result) {
    case binding::AttemptResult::scheduled:
      return "scheduled";
    case binding::AttemptResult::unschedulable:
      return "unschedulable";
    case binding::AttemptResult::error:
      break;
  }
  return "error";
}

constexpr observe::Point point_of(binding::AsyncPoint point) {
  switch (point) {
    case binding::AsyncPoint::pre_bind_check:
      return observe::Point::pre_bind_check;
    case binding::AsyncPoint::pre_bind:
      return observe::Point::pre_bind;
    case binding::AsyncPoint::bind:
      break;
  }
  return observe::Point::bind;
}

}  // namespace

SchedulerMetrics::SchedulerMetrics(const config::Configuration& configuration, observe::MetricRegistry& registry,
                                   observe::CallCounters& counters)
    : registry_(registry),
      counters_(counters),
      attempt_seconds_(define(MetricKind::histogram, "scheduler_scheduling_attempt_duration_seconds",
                              "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
                              {"profile", "result"}, exponential<15>(0.001, 2))),
      sli_seconds_(define(MetricKind::histogram, "scheduler_pod_scheduling_sli_duration_seconds",
                          "[BETA] Time from the first entry of a pod into the active queue to its binding, in seconds.",
                          {"attempts"}, exponential<20>(0.01, 2))),
      permit_seconds_(define(MetricKind::histogram, "scheduler_permit_wait_duration_seconds",
                             "[BETA] Duration of waiting on permit.", {"result"}, exponential<15>(0.001, 2))),
      eviction_seconds_(define(MetricKind::histogram, "scheduler_preemption_goroutines_duration_seconds",
                               "[ALPHA] Duration in seconds for carrying out the evictions of one preemption.",
                               {"result"}, exponential<20>(0.01, 2))),
      evictions_ended_(define(MetricKind::counter, "scheduler_preemption_goroutines_execution_total",
                              "[ALPHA] Number of preemptions whose evictions came to their end.", {"result"})),
      algorithm_seconds_(
          only(define(MetricKind::histogram, "scheduler_scheduling_algorithm_duration_seconds",
                      "[ALPHA] Scheduling algorithm latency in seconds", {}, exponential<15>(0.001, 2)))),
      pod_attempts_(
          only(define(MetricKind::histogram, "scheduler_pod_scheduling_attempts",
                      "[STABLE] Number of attempts to successfully schedule a pod.", {}, exponential<5>(1, 2)))),
      victims_(only(define(MetricKind::histogram, "scheduler_preemption_victims",
                           "[STABLE] Number of selected preemption victims", {}, exponential<7>(1, 2)))),
      seconds_per_tick_(counters.seconds_per_tick()) {
  for (const config::Profile& profile : configuration.profiles) profiles_.emplace_back().name = profile.scheduler_name;
  for (Late& series : sli_) series = k_unknown;
  for (Late& series : permit_) series = k_unknown;
}

SchedulerMetrics::Family SchedulerMetrics::define(MetricKind kind, const char* name, const char* help,
                                                  std::vector<std::string> labels, std::vector<double> buckets) {
  const Result<Family> family = registry_.define({kind, name, help, std::move(labels), std::move(buckets)});
  BERTH_CHECK(family.ok(), "{}", family.error().message);
  return *family;
}

SchedulerMetrics::Series SchedulerMetrics::only(Family family) {
  const Result<Series> series = registry_.series(family, {});
  BERTH_CHECK(series.ok(), "{}", series.error().message);
  return *series;
}

void SchedulerMetrics::record(Late& series, Family family, std::initializer_list<std::string_view> labels,
                              double value) noexcept {
  Series known = series.load(std::memory_order_relaxed);
  if (known == k_unknown) {
    const Result<Series> made = registry_.series(family, std::vector<std::string_view>(labels));
    if (!made.ok()) return;
    known = *made;
    series.store(known, std::memory_order_relaxed);
  }
  registry_.record(known, value);
}

SchedulerMetrics::PerProfile* SchedulerMetrics::find(std::string_view profile) noexcept {
  const auto found =
      std::find_if(profiles_.begin(), profiles_.end(), [&](const PerProfile& p) { return p.name == profile; });
  return found == profiles_.end() ? nullptr : &*found;
}

void SchedulerMetrics::attempt_ended(const binding::AttemptEnd& end) noexcept {
  attempts_.attempt_ended(end);
  if (PerProfile* const profile = find(end.profile))
    record(profile->duration[static_cast<std::size_t>(end.result)], attempt_seconds_,
           {profile->name, result_name(end.result)}, seconds(end.duration_ns));
  if (end.result != binding::AttemptResult::scheduled) return;
  registry_.record(pod_attempts_, end.attempts);
  const std::size_t label = std::clamp<std::size_t>(end.attempts, 1, k_attempt_labels);
  record(sli_[label - 1], sli_seconds_, {label == k_attempt_labels ? "15+" : std::to_string(label)},
         seconds(end.since_first_attempt_ns));
}

void SchedulerMetrics::point_ended(const framework::ProfileRuntime& profile, binding::AsyncPoint point,
                                   framework::Code code, std::int64_t duration_ns) noexcept {
  counters_.add_ns(profile.runs[static_cast<std::size_t>(point_of(point))], duration_ns,
                   static_cast<std::uint32_t>(code));
}

void SchedulerMetrics::permit_waited(framework::Code code, std::int64_t duration_ns) noexcept {
  const auto which = static_cast<std::size_t>(code);
  if (which < permit_.size())
    record(permit_[which], permit_seconds_, {framework::code_name(code)}, seconds(duration_ns));
}

void SchedulerMetrics::choice_made(std::uint64_t ticks, const cycle::ReuseCounts& reuse) noexcept {
  registry_.record(algorithm_seconds_, static_cast<double>(ticks) * seconds_per_tick_);
  reuse_.reused.store(reuse.reused, std::memory_order_relaxed);
  reuse_.diagnoses.store(reuse.diagnoses, std::memory_order_relaxed);
  reuse_.ranked.store(reuse.ranked, std::memory_order_relaxed);
  reuse_.evaluated.store(reuse.evaluated, std::memory_order_relaxed);
  reuse_.violations.store(reuse.violations, std::memory_order_relaxed);
  reuse_.bytes.store(reuse.bytes, std::memory_order_relaxed);
}

void SchedulerMetrics::victims_chosen(std::size_t count) noexcept {
  registry_.record(victims_, static_cast<double>(count));
}

// Departs from upstream, whose numbers are those of the moment at which the evictions begin: always "success", and no
// time at all.
void SchedulerMetrics::evictions_ended(bool failed, std::int64_t duration_ns) noexcept {
  const char* const result = failed ? "error" : "success";
  const auto which = static_cast<std::size_t>(failed);
  record(eviction_durations_[which], eviction_seconds_, {result}, seconds(duration_ns));
  record(evictions_[which], evictions_ended_, {result}, 1);
}

cycle::ReuseCounts SchedulerMetrics::reuse() const noexcept {
  return {.reused = reuse_.reused.load(std::memory_order_relaxed),
          .diagnoses = reuse_.diagnoses.load(std::memory_order_relaxed),
          .ranked = reuse_.ranked.load(std::memory_order_relaxed),
          .evaluated = reuse_.evaluated.load(std::memory_order_relaxed),
          .violations = reuse_.violations.load(std::memory_order_relaxed),
          .bytes = reuse_.bytes.load(std::memory_order_relaxed)};
}

}  // namespace berth::metrics
