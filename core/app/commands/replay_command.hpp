// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <optional>
#include <string>

namespace berth::app {

struct ReplayOptions {
  std::string path;                   // a segment, or a directory of them
  std::string plugin_dir;             // empty: the usual one
  std::optional<std::string> config;  // another configuration; absent: the recording's; "": the defaults
  std::string output = "table";       // table, json
};

/// `berth replay`. Decides the recording again, with its own configuration: each decision has to come out as it was.
/// With another configuration, counts the decisions that would have been others, and shows both side by side. Returns
/// the exit status: 0 done; 1 a decision differs under the recording's own configuration, none could be made again
/// although some were recorded, or the recording cannot be read.
int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
