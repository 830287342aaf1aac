// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "app/simulate/what_if.hpp"

namespace berth::app {

struct SimulateOptions {
  std::vector<std::string> cluster;  // files, directories, "-"
  std::string config;                // empty: defaults
  std::string plugin_dir;
  bool single_pass = false;
  std::string decisions;         // file to write; empty: none
  std::string explain;           // NS/POD
  std::string why_not = {};      // with explain: a node that is asked about
  std::string output = "table";  // table, wide, json, yaml
  bool fail_on_pending = false;
  std::vector<WhatIfChange> changes = {};   // made to the cluster before it is simulated, in this order
  bool until_full = false;                  // then pods like the one of `pod` are added until one fits nowhere
  std::string pod;                          // a file; with until_full
  std::string record = {};                  // a directory for a recording; empty: none is made
  std::optional<std::string> compare = {};  // another configuration; "": the defaults
};

/// `berth simulate`. Returns the exit status: 0 done, 1 bad input, 2 usage, 3 pods pending with fail_on_pending.
int run_simulate(const SimulateOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
