// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/shadow/shadow_report.hpp"
#include "observe/metric_page.hpp"

namespace berth::app {

/// Adds the families of a shadow: what it has seen of the scheduler in charge.
void add_shadow(observe::MetricPage& page, const ShadowReport& shadow);

}  // namespace berth::app
