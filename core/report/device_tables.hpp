// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "report/device_report.hpp"
#include "report/report_text.hpp"

namespace berth::report {

/// Claims with their devices, those without first; empty when there are none.
std::string claims_table(const DeviceReport& report, const TableStyle& style);
/// Pools with how many of their devices are free, allocated and tainted, the fullest first where not all are shown, and sums by
/// driver; empty when there are none.
std::string devices_table(const DeviceReport& report, const TableStyle& style);

}  // namespace berth::report
