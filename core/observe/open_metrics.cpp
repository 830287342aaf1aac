// SPDX-License-Identifier: Apache-2.0
#include "observe/open_metrics.hpp"

#include <prometheus/metric_family.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <string_view>

namespace berth::observe {
namespace {

void append_metric_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

/// 1 is 1.0 there.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::string out = fmt::format("{}", value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

void append_sample(std::string& out, std::string_view name, const std::vector<prometheus::ClientMetric::Label>& labels,
                   std::string_view bound, std::string_view value) {
  out += name;
  char before = '{';
  const auto append_label = [&](std::string_view key, std::string_view text) {
    out += before;
    out += key;
    out += "=\"";
    append_metric_text(out, text);
    out += '"';
    before = ',';
  };
  for (const prometheus::ClientMetric::Label& label : labels) append_label(label.name, label.value);
  if (!bound.empty()) append_label("le", bound);
  if (before == ',') out += '}';
  out += ' ';
  out += value;
  out += '\n';
}

void append_histogram(std::string& out, const std::string& name, const prometheus::ClientMetric& metric) {
  for (const prometheus::ClientMetric::Bucket& bucket : metric.histogram.bucket)
    append_sample(out, name + "_bucket", metric.label, number(bucket.upper_bound),
                  std::to_string(bucket.cumulative_count));
  append_sample(out, name + "_sum", metric.label, {}, number(metric.histogram.sample_sum));
  append_sample(out, name + "_count", metric.label, {}, std::to_string(metric.histogram.sample_count));
}

void append_family(std::string& out, const prometheus::MetricFamily& family) {
  constexpr std::string_view k_total = "_total";
  const bool is_counter = family.type == prometheus::MetricType::Counter;
  const bool is_total = is_counter && std::string_view(family.name).ends_with(k_total);
  const std::string name = is_total ? family.name.substr(0, family.name.size() - k_total.size()) : family.name;
  const char* const type = is_total                                                     ? "counter"
                           : family.type == prometheus::MetricType::Histogram           ? "histogram"
                           : is_counter || family.type != prometheus::MetricType::Gauge ? "unknown"
                                                                                        : "gauge";
  out += "# HELP " + name + ' ';
  append_metric_text(out, family.help);
  out += "\n# TYPE " + name + ' ' + type + '\n';
  for (const prometheus::ClientMetric& metric : family.metric) {
    if (family.type == prometheus::MetricType::Histogram)
      append_histogram(out, name, metric);
    else
      append_sample(out, family.name, metric.label, {},
                    number(is_counter                                     ? metric.counter.value
                           : family.type == prometheus::MetricType::Gauge ? metric.gauge.value
                                                                          : metric.untyped.value));
  }
}

}  // namespace

std::string open_metrics_text(std::span<const prometheus::MetricFamily> families) {
  std::string out;
  for (const prometheus::MetricFamily& family : families) append_family(out, family);
  return out + "# EOF\n";
}

}  // namespace berth::observe
