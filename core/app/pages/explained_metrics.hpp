// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/pages/live_views.hpp"
#include "observe/metric_page.hpp"

namespace berth::app {

/// Adds the families of searches for what would make pods fit, for their events; none where explainAfter is not set.
void add_explained(observe::MetricPage& page, const LiveViews& live);

}  // namespace berth::app
