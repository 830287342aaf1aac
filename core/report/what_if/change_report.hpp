// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/what_if/fill_report.hpp"
#include "text/json_writer.hpp"

namespace berth::report {

/// One change that was made to the cluster before it was simulated.
struct ChangeLine {
  std::string option;                      // as it was given: "--drain a"
  std::string effect;                      // one sentence for people
  std::vector<std::string> nodes;          // that were added or drained
  std::vector<std::string> added_pods;     // "namespace/name", as all below
  std::vector<std::string> returned_pods;  // of a drained node, to be scheduled again
  std::vector<std::string> removed_pods;
};

/// For people; empty when there are none.
std::string changes_table(const std::vector<ChangeLine>& changes);
std::string fill_table(const std::optional<FillReport>& fill, std::size_t node_rows);
/// The members "whatIf" and "untilFull" of an object that is open; nothing when there are none.
void write_changes(text::JsonWriter& json, const std::vector<ChangeLine>& changes);
void write_fill(text::JsonWriter& json, const std::optional<FillReport>& fill);

}  // namespace berth::report
