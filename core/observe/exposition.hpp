// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "observe/metric_families.hpp"

/// What scrapers read. Bounds of buckets are labels, which are compared as text: they are written as Go writes them, so that
/// series of both schedulers are one.
namespace berth::observe {

/// The families in the text form of Prometheus, version 0.0.4. Source: prometheus/common expfmt (text_create.go).
std::string prometheus_text(std::span<const prometheus::MetricFamily> families);

/// The families in the text form of OpenMetrics 1.0, with the mark of its end. Counters whose name does not end in
/// _total are of type unknown there. Source: prometheus/common expfmt (openmetrics_create.go).
std::string open_metrics_text(std::span<const prometheus::MetricFamily> families);

}  // namespace berth::observe
