// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

namespace berth::app {

struct SimulateOptions {
  std::vector<std::string> cluster;  // files, directories, "-"
  std::string config;                // empty: defaults
  std::string plugin_dir;
  bool single_pass = false;
  std::string decisions;         // file to write; empty: none
  std::string explain;           // NS/POD
  std::string output = "table";  // table, wide, json, yaml
  bool fail_on_pending = false;
};

/// `berth simulate`. Returns the exit status: 0 done, 1 bad input, 2 usage, 3 pods pending with fail_on_pending.
int run_simulate(const SimulateOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
