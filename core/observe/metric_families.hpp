// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <prometheus/metric_family.h>

#include <vector>

#include "observe/metric_registry.hpp"

// Internal to core/observe: what of the metrics library the files here share.
namespace berth::observe {

std::vector<prometheus::MetricFamily> families_of(const MetricRegistry& registry);

}  // namespace berth::observe
