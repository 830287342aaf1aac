// SPDX-License-Identifier: Apache-2.0
#include "app/cli/simulate_flags.hpp"

#include <CLI/CLI.hpp>
#include <map>

namespace berth::app {
namespace {

constexpr const char* k_what_if =
    "What if (each may be repeated; applied in the order given, before anything is decided)";
constexpr const char* k_add_nodes = "--add-nodes";
constexpr const char* k_like = "--like";

const std::map<std::string, WhatIfChange::Kind>& kinds() {
  static const std::map<std::string, WhatIfChange::Kind> k_kinds{{k_add_nodes, WhatIfChange::Kind::add_nodes},
                                                                 {"--drain", WhatIfChange::Kind::drain},
                                                                 {"--remove-pods", WhatIfChange::Kind::remove_pods},
                                                                 {"--scale", WhatIfChange::Kind::scale}};
  return k_kinds;
}

void add_change(CLI::App& app, const char* name, const char* value, const char* help) {
  const std::string description(help);
  app.add_option(name, description)
      ->type_name(value)
      ->expected(1)
      ->type_size(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(k_what_if);
}

}  // namespace

std::string WhatIfChange::option() const {
  switch (kind) {
    case Kind::add_nodes:
      return "--add-nodes " + value + " --like " + like;
    case Kind::drain:
      return "--drain " + value;
    case Kind::remove_pods:
      return "--remove-pods " + value;
    case Kind::scale:
      return "--scale " + value;
  }
  return {};
}

void add_simulate_flags(CLI::App& app, SimulateOptions& options) {
  app.add_option("--cluster", options.cluster, "Files, directories, or - for standard input")->required();
  app.add_option("--config", options.config, "KubeSchedulerConfiguration and BerthConfiguration");
  app.add_option("--plugin-dir", options.plugin_dir, "Directory of plugin files");
  app.add_flag("--single-pass", options.single_pass, "Try each pending pod once, bind nothing, retry nothing");
  app.add_option("--decisions", options.decisions, "Write every decision with its reasons to this file");
  app.add_option("--explain", options.explain,
                 "Explain the decision about one pod, and what would make it fit: NAMESPACE/NAME");
  app.add_option("--why-not", options.why_not,
                 "With --explain, of a pod that stays pending: all that keeps it from a node")
      ->type_name("NODE");
  app.add_option("-o,--output", options.output, "table, wide, json, yaml, or html: a page in one file")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "html"}));
  app.add_option("--record", options.record, "Record what happens in this directory, for berth record and berth replay")
      ->type_name("DIR");
  app.add_flag("--fail-on-pending", options.fail_on_pending,
               "Exit with 3 when pods stay pending, with --compare under either policy");

  add_change(app, k_add_nodes, "N",
             "Add N nodes, each with the labels, taints, devices and DaemonSet pods of the node that --like names");
  add_change(app, k_like, "NODE", "The node that the nodes of the --add-nodes before it are like");
  add_change(app, "--drain", "NODE",
             "Cordon a node; its pods are scheduled again, or are gone where they have no controller");
  add_change(app, "--remove-pods", "SELECTOR",
             "Remove the pods of NAMESPACE:LABELS (namespace * for all), as shop:app=web,tier in (a,b)");
  add_change(app, "--scale", "NS/KIND/NAME=N",
             "Give a workload N pods, like its newest one, as shop/Deployment/web=40");

  app.add_flag("--until-full", options.until_full,
               "Then add pods like the one of --pod, which preempt none, until one fits nowhere; say how many fitted")
      ->group("Questions");
  app.add_option("--pod", options.pod, "The manifest of one pod, for --until-full")
      ->type_name("FILE")
      ->group("Questions");
  app.add_option("--compare", options.compare,
                 "Decide with this configuration too (\"\": the defaults), and show both side by side")
      ->type_name("CONFIG_B")
      ->group("Questions");
}

Result<std::vector<WhatIfChange>> changes_of(const std::vector<std::pair<std::string, std::string>>& given) {
  constexpr const char* k_no_like =
      "--add-nodes: is to be followed by --like NODE: the node that the new ones are like";
  std::vector<WhatIfChange> changes;
  bool wants_like = false;
  for (const auto& [name, value] : given) {
    if (name == k_like) {
      if (!wants_like) return Error{"--like: belongs right after the --add-nodes N whose nodes are like it"};
      changes.back().like = value;
      wants_like = false;
      continue;
    }
    if (wants_like) return Error{k_no_like};
    const auto kind = kinds().find(name);
    if (kind == kinds().end()) return Error{name + ": is no change of a cluster"};
    changes.push_back({kind->second, value});
    wants_like = kind->second == WhatIfChange::Kind::add_nodes;
  }
  if (wants_like) return Error{k_no_like};
  return changes;
}

void take_changes(const CLI::App& app, SimulateOptions& options) {
  std::map<const CLI::Option*, std::size_t> taken;
  std::vector<std::pair<std::string, std::string>> given;
  for (const CLI::Option* option : app.parse_order()) {
    const std::string name = option->get_name();
    if (kinds().contains(name) || name == k_like) given.emplace_back(name, option->results().at(taken[option]++));
  }
  Result<std::vector<WhatIfChange>> changes = changes_of(given);
  if (!changes.ok()) throw CLI::ValidationError(changes.error().message);
  options.changes = std::move(*changes);
}

}  // namespace berth::app
