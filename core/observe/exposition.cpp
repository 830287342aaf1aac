// SPDX-License-Identifier: Apache-2.0
#include "observe/exposition.hpp"

#include <prometheus/metric_family.h>
#include <spdlog/fmt/fmt.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace berth::observe {
namespace {

enum class Form { prometheus, open_metrics };

void append_escaped(std::string& out, std::string_view text, bool escapes_quotes) {
  for (const char c : text) {
    if (c == '\\' || (c == '"' && escapes_quotes)) out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

/// The shortest digits that read back as the value, as Go's strconv.FormatFloat(value, 'g', -1, 64): with an exponent, of two
/// digits at least, below 0.0001 and from 1,000,000 on.
std::string bound_text(double value, Form form) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> text{};
  const double size = std::abs(value);
  const auto format =
      size != 0 && (size < 1e-4 || size >= 1e6) ? std::chars_format::scientific : std::chars_format::fixed;
  std::string out(text.data(), std::to_chars(text.begin(), text.end(), value, format).ptr);
  if (form == Form::open_metrics && out.find_first_of(".e") == std::string::npos) out += ".0";  // 1 is 1.0 there
  return out;
}

std::string value_text(double value, Form form) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::string out = fmt::format("{}", value);
  if (form == Form::open_metrics && out.find_first_of(".e") == std::string::npos) out += ".0";
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
    append_escaped(out, text, true);
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

void append_histogram(std::string& out, Form form, const std::string& name, const prometheus::ClientMetric& metric) {
  for (const prometheus::ClientMetric::Bucket& bucket : metric.histogram.bucket)
    append_sample(out, name + "_bucket", metric.label, bound_text(bucket.upper_bound, form),
                  std::to_string(bucket.cumulative_count));
  append_sample(out, name + "_sum", metric.label, {}, value_text(metric.histogram.sample_sum, form));
  append_sample(out, name + "_count", metric.label, {}, std::to_string(metric.histogram.sample_count));
}

struct Heading {
  std::string name;
  const char* type;
};

Heading heading(const prometheus::MetricFamily& family, Form form) {
  constexpr std::string_view k_total = "_total";
  const bool is_counter = family.type == prometheus::MetricType::Counter;
  const bool is_total = is_counter && std::string_view(family.name).ends_with(k_total);
  const bool loses_total = form == Form::open_metrics && is_total;
  const char* const other = form == Form::open_metrics ? "unknown" : "untyped";
  return {loses_total ? family.name.substr(0, family.name.size() - k_total.size()) : family.name,
          is_counter ? (form == Form::prometheus || is_total ? "counter" : other)
          : family.type == prometheus::MetricType::Histogram ? "histogram"
          : family.type == prometheus::MetricType::Gauge     ? "gauge"
                                                             : other};
}

void append_family(std::string& out, Form form, const prometheus::MetricFamily& family) {
  const auto [name, type] = heading(family, form);
  out += "# HELP " + name + ' ';
  append_escaped(out, family.help, form == Form::open_metrics);
  out += "\n# TYPE " + name + ' ' + type + '\n';
  for (const prometheus::ClientMetric& metric : family.metric) {
    if (family.type == prometheus::MetricType::Histogram)
      append_histogram(out, form, name, metric);
    else
      append_sample(out, family.name, metric.label, {},
                    value_text(family.type == prometheus::MetricType::Counter ? metric.counter.value
                               : family.type == prometheus::MetricType::Gauge ? metric.gauge.value
                                                                              : metric.untyped.value,
                               form));
  }
}

}  // namespace

std::string prometheus_text(std::span<const prometheus::MetricFamily> families) {
  std::string out;
  for (const prometheus::MetricFamily& family : families) append_family(out, Form::prometheus, family);
  return out;
}

std::string open_metrics_text(std::span<const prometheus::MetricFamily> families) {
  std::string out;
  for (const prometheus::MetricFamily& family : families) append_family(out, Form::open_metrics, family);
  return out + "# EOF\n";
}

}  // namespace berth::observe
