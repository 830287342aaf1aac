// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_registry.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>

#include "base/guarded.hpp"
#include "observe/metric_families.hpp"
#include "observe/metric_page.hpp"

namespace berth::observe {
namespace {

bool good_name(std::string_view name) noexcept {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; });
}

/// What the program itself exports with upstream's prefix, through this registry or when the page is read.
constexpr std::string_view k_own_names[] = {
    "scheduler_cache_size",
    "scheduler_event_handling_duration_seconds",
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_goroutines",
    "scheduler_inflight_events",
    "scheduler_pending_pods",
    "scheduler_permit_wait_duration_seconds",
    "scheduler_plugin_evaluation_total",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_pod_scheduled_after_flush_total",
    "scheduler_pod_scheduling_attempts",
    "scheduler_pod_scheduling_sli_duration_seconds",
    "scheduler_preemption_attempts_total",
    "scheduler_preemption_goroutines_duration_seconds",
    "scheduler_preemption_goroutines_execution_total",
    "scheduler_preemption_victims",
    "scheduler_queue_incoming_pods_total",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_schedule_attempts_total",
    "scheduler_scheduling_algorithm_duration_seconds",
    "scheduler_scheduling_attempt_duration_seconds",
    "scheduler_unschedulable_pods",
};
bool is_own_name(std::string_view name) {
  return std::find(std::begin(k_own_names), std::end(k_own_names), name) != std::end(k_own_names);
}

/// One counter family over all plugins and points.
template <typename ValueOf>
prometheus::MetricFamily call_family(const char* name, const char* help, const std::vector<CallTotal>& totals,
                                     ValueOf&& value_of) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Counter;
  for (const CallTotal& total : totals) {
    prometheus::ClientMetric metric;
    metric.label = {{"plugin", total.plugin}, {"point", total.point}};
    metric.counter.value = value_of(total);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

struct Cell {
  prometheus::Counter* counter = nullptr;
  prometheus::Gauge* gauge = nullptr;
  prometheus::Histogram* histogram = nullptr;
};

}  // namespace

struct MetricRegistry::State {
  explicit State(const CallCounters& counters) : calls(counters) {}

  const CallCounters& calls;
  struct FamilyState {
    MetricSpec spec;
    prometheus::Family<prometheus::Counter>* counters = nullptr;
    prometheus::Family<prometheus::Gauge>* gauges = nullptr;
    prometheus::Family<prometheus::Histogram>* histograms = nullptr;
    std::map<std::vector<std::string>, Series> series;
  };
  Mutex mutex;  // cells are published by cell_count
  prometheus::Registry registry;
  std::vector<std::unique_ptr<FamilyState>> families GUARDED_BY(mutex);
  std::unique_ptr<Cell[]> cells{new Cell[k_max_series]};
  std::atomic<std::size_t> cell_count{0};
};

MetricRegistry::MetricRegistry(const CallCounters& calls) : state_(std::make_unique<State>(calls)) {}
MetricRegistry::~MetricRegistry() = default;

Result<MetricRegistry::Family> MetricRegistry::define(const MetricSpec& spec) {
  if (!good_name(spec.name)) return Error{fmt::format("metric name \"{}\" is not valid", spec.name)};
  for (const std::string& label : spec.labels)
    if (!good_name(label)) return Error{fmt::format("metric {}: label name \"{}\" is not valid", spec.name, label)};
  if (!std::is_sorted(spec.buckets.begin(), spec.buckets.end()))
    return Error{fmt::format("metric {}: buckets must ascend", spec.name)};
  if (!spec.owner.empty() && is_own_name(spec.name))
    return Error{fmt::format("metric {} is the scheduler's own; choose another name", spec.name)};
  const Lock lock(state_->mutex);
  for (std::size_t i = 0; i < state_->families.size(); ++i) {
    const MetricSpec& known = state_->families[i]->spec;
    if (known.name != spec.name) continue;
    if (known.owner != spec.owner)
      return Error{fmt::format("metric {} is defined already by {}; choose another name", spec.name,
                               known.owner.empty() ? "the scheduler itself" : "plugin " + known.owner)};
    if (known.kind == spec.kind && known.labels == spec.labels && known.buckets == spec.buckets)
      return static_cast<Family>(i);
    return Error{fmt::format("metric {} is defined already, with another kind, other labels or buckets", spec.name)};
  }
  auto family = std::make_unique<State::FamilyState>();
  family->spec = spec;
  switch (spec.kind) {
    case MetricKind::counter:
      family->counters = &prometheus::BuildCounter().Name(spec.name).Help(spec.help).Register(state_->registry);
      break;
    case MetricKind::gauge:
      family->gauges = &prometheus::BuildGauge().Name(spec.name).Help(spec.help).Register(state_->registry);
      break;
    case MetricKind::histogram:
      family->histograms = &prometheus::BuildHistogram().Name(spec.name).Help(spec.help).Register(state_->registry);
      break;
  }
  state_->families.push_back(std::move(family));
  return static_cast<Family>(state_->families.size() - 1);
}

std::vector<std::string> MetricRegistry::labels(Family family) const {
  const Lock lock(state_->mutex);
  return family < state_->families.size() ? state_->families[family]->spec.labels : std::vector<std::string>();
}

Result<MetricRegistry::Series> MetricRegistry::series(Family family, std::span<const std::string_view> values) {
  const Lock lock(state_->mutex);
  if (family >= state_->families.size()) return Error{fmt::format("there is no metric family {}", family)};
  State::FamilyState& f = *state_->families[family];
  if (values.size() != f.spec.labels.size())
    return Error{
        fmt::format("metric {} has {} labels, {} values were given", f.spec.name, f.spec.labels.size(), values.size())};
  std::vector<std::string> key(values.begin(), values.end());
  if (const auto it = f.series.find(key); it != f.series.end()) return it->second;
  if (f.series.size() >= f.spec.max_series) {
    std::fill(key.begin(), key.end(), "other");
    if (const auto it = f.series.find(key); it != f.series.end()) return it->second;
  }
  const std::size_t next = state_->cell_count.load(std::memory_order_relaxed);
  if (next >= k_max_series) return Error{"too many metric series"};
  std::map<std::string, std::string> labels;
  for (std::size_t i = 0; i < key.size(); ++i) labels[f.spec.labels[i]] = key[i];
  Cell& cell = state_->cells[next];
  if (f.counters != nullptr) cell.counter = &f.counters->Add(labels);
  if (f.gauges != nullptr) cell.gauge = &f.gauges->Add(labels);
  if (f.histograms != nullptr)
    cell.histogram = &f.histograms->Add(labels, prometheus::Histogram::BucketBoundaries(f.spec.buckets));
  state_->cell_count.store(next + 1, std::memory_order_release);
  f.series.emplace(std::move(key), static_cast<Series>(next));
  return static_cast<Series>(next);
}

void MetricRegistry::record(Series series, double value) noexcept {
  if (series >= state_->cell_count.load(std::memory_order_acquire)) return;
  const Cell& cell = state_->cells[series];
  if (cell.counter != nullptr && value >= 0) cell.counter->Increment(value);
  if (cell.gauge != nullptr) cell.gauge->Set(value);
  if (cell.histogram != nullptr) cell.histogram->Observe(value);
}

std::vector<prometheus::MetricFamily> families_of(const MetricRegistry& registry) {
  std::vector<prometheus::MetricFamily> families = registry.state_->registry.Collect();
  const std::vector<CallTotal> totals = registry.state_->calls.totals();
  families.push_back(call_family("berth_plugin_calls_total", "Calls into plugins.", totals,
                                 [](const CallTotal& t) { return static_cast<double>(t.calls); }));
  families.push_back(call_family("berth_plugin_call_seconds_total", "Time spent inside plugins, every call.", totals,
                                 [](const CallTotal& t) { return t.seconds; }));
  return families;
}

std::string MetricRegistry::render() const {
  MetricPage page;
  page.add(*this);
  return page.text();
}

}  // namespace berth::observe
