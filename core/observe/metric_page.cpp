// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_page.hpp"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <limits>

#include "observe/exposition.hpp"
#include "observe/metric_families.hpp"

namespace berth::observe {
namespace {

std::vector<prometheus::ClientMetric::Label> labels_of(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::vector<prometheus::ClientMetric::Label> out;
  for (const auto& [name, value] : labels) out.push_back({name, value});
  return out;
}

void keep_allowed(prometheus::MetricFamily& family, const MetricFilter& filter) {
  for (prometheus::ClientMetric& metric : family.metric)
    for (prometheus::ClientMetric::Label& label : metric.label) {
      const auto allowed = filter.allowed_values.find(family.name + "," + label.name);
      if (allowed != filter.allowed_values.end() && !allowed->second.contains(label.value)) label.value = "unexpected";
    }
}

}  // namespace

struct MetricPage::State {
  prometheus::MetricFamily& make(std::string_view name, std::string_view help, prometheus::MetricType type) {
    prometheus::MetricFamily& family = families.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
    return family;
  }
  std::vector<prometheus::MetricFamily> shown(const MetricFilter& filter) const;

  std::vector<prometheus::MetricFamily> families;
};

MetricPage::MetricPage() : state_(std::make_unique<State>()) {}
MetricPage::~MetricPage() = default;
MetricPage::MetricPage(MetricPage&&) noexcept = default;

void MetricPage::add(MetricKind kind, std::string_view name, std::string_view help, std::vector<MetricSample> samples) {
  prometheus::MetricFamily& family = state_->make(
      name, help, kind == MetricKind::counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge);
  for (const MetricSample& sample : samples) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.label = labels_of(sample.labels);
    (kind == MetricKind::counter ? metric.counter.value : metric.gauge.value) = sample.value;
  }
}

void MetricPage::add_histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                               std::vector<HistogramSample> samples) {
  prometheus::MetricFamily& family = state_->make(name, help, prometheus::MetricType::Histogram);
  for (const HistogramSample& sample : samples) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.label = labels_of(sample.labels);
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < sample.counts.size(); ++i) {
      so_far += sample.counts[i];
      metric.histogram.bucket.push_back(
          {so_far, i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity()});
    }
    metric.histogram.sample_count = so_far;
    metric.histogram.sample_sum = sample.sum;
  }
}

void MetricPage::add(const MetricRegistry& registry) {
  for (prometheus::MetricFamily& family : families_of(registry)) state_->families.push_back(std::move(family));
}

std::map<std::string, std::size_t> MetricPage::families_by_stability() const {
  std::map<std::string, std::size_t> out;
  for (const prometheus::MetricFamily& family : state_->families) {
    const std::size_t end = family.help.starts_with('[') ? family.help.find(']') : std::string::npos;
    ++out[end == std::string::npos ? std::string() : family.help.substr(1, end - 1)];
  }
  return out;
}

std::vector<prometheus::MetricFamily> MetricPage::State::shown(const MetricFilter& filter) const {
  std::vector<prometheus::MetricFamily> out;
  for (const prometheus::MetricFamily& family : families) {
    if (family.metric.empty() || filter.disabled.contains(family.name)) continue;
    out.push_back(family);
    keep_allowed(out.back(), filter);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::string MetricPage::text(const MetricFilter& filter) const { return prometheus_text(state_->shown(filter)); }

std::string MetricPage::open_metrics(const MetricFilter& filter) const {
  return open_metrics_text(state_->shown(filter));
}

}  // namespace berth::observe
