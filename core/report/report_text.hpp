// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <iosfwd>
#include <string>

#include "report/simulate_report.hpp"
#include "text/diagnostics.hpp"

namespace berth::report {

struct TableStyle {
  bool wide = false;           // every row and more columns
  bool colour = false;         // escape sequences; for terminals
  std::size_t pod_rows = 40;   // per section, unless wide
  std::size_t node_rows = 25;  // the fullest, unless wide or all fit
};

/// The report for people: a summary, pods by what became of them, nodes with their use as bars.
std::string render_table(const SimulationReport& report, const TableStyle& style);

/// "1.5" of milli-cores, "12.5Gi" of bytes, the number otherwise.
std::string amount_text(std::int64_t amount, AmountUnit unit);
/// `cells` columns, filled in eighths. Full when more is requested than there is.
std::string usage_bar(const Usage& usage, std::size_t cells);
/// Rounded down, so that 100 means full; 0 when there is nothing to use.
std::int64_t percent(const Usage& usage) noexcept;

/// Problems in the order of their positions, and how many there are; nothing where there are none.
std::string render_diagnostics(const text::Diagnostics& diagnostics);
void print_diagnostics(std::ostream& err, const text::Diagnostics& diagnostics);

}  // namespace berth::report
