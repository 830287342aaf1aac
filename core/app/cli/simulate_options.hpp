// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace berth::app {

/// A change of the cluster that an operator thinks of, as the command line says it.
struct WhatIfChange {
  enum class Kind : std::uint8_t { add_nodes, drain, remove_pods, scale };
  Kind kind = Kind::add_nodes;
  std::string value;  // add_nodes: how many; drain: the node; remove_pods: NAMESPACE:SELECTOR; scale: NS/KIND/NAME=N
  std::string like = {};  // add_nodes: the node that they are like
  std::string option() const;
};

/// Of options with their values, in their order: {"--add-nodes", "3"}, {"--like", "a"}. The error begins with the option.
Result<std::vector<WhatIfChange>> changes_of(const std::vector<std::pair<std::string, std::string>>& given);

/// Of `berth simulate`.
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

}  // namespace berth::app
