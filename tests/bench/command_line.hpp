// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

namespace berth::bench {

/// What every benchmark over a workload file can be told.
struct CommonOptions {
  std::string workload, plugin_dir;
  bool json = false;
  bool check = true;
};

inline void add_common(CLI::App& cli, CommonOptions& options) {
  cli.add_option("WORKLOAD", options.workload, "Workload file")->required();
  cli.add_option("--plugin-dir", options.plugin_dir, "Directory of plugin files");
  cli.add_flag("--json", options.json, "One JSON object");
  cli.add_flag("!--no-check", options.check, "Do not check what was decided");
}

/// Runs it with what the command line says. 0: all is right, 1: not, or it could not run.
template <typename Run>
int run_command(CLI::App& cli, int argc, char** argv, Run&& run) {
  CLI11_PARSE(cli, argc, argv);
  try {
    return run();
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}

}  // namespace berth::bench
