// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "observe/metric_families.hpp"

namespace berth::observe {

/// The families in the text form of OpenMetrics 1.0, with the mark of its end. Counters whose name does not end in
/// _total are of type unknown there. Source: prometheus/common expfmt (openmetrics_create.go).
std::string open_metrics_text(std::span<const prometheus::MetricFamily> families);

}  // namespace berth::observe
