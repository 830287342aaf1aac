// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/pages/live_views.hpp"
#include "observe/metric_page.hpp"

namespace berth::app {

/// Adds berth_table_bytes, berth_table_entries and what goes with them: the tables of core/TABLES.md, which says whose
/// each is and what it may take.
void add_tables(observe::MetricPage& page, const LiveViews& live);

}  // namespace berth::app
