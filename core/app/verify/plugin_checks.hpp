// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/verify/plugin_under_test.hpp"
#include "app/verify/trial.hpp"

namespace berth::app {

/// A part of a check, in a process of its own.
struct CheckPart {
  std::string of;  // "no nodes"; empty: the check has one part
  std::function<void(const TestedPlugins& tested, Findings& findings)> run;
};

/// What `berth plugin verify` looks at. Numbers are for good: a check that goes leaves a gap.
struct PluginCheck {
  std::string_view number;   // "V04"
  std::string_view name;     // "awkward clusters"
  std::string_view demands;  // what holds of a plugin that passes, as a sentence
  std::vector<CheckPart> parts;
};

/// In the order of their numbers. V01, which looks at the file and runs nothing of it, is the command's.
/// Source: the contracts of sdk/include/berth; each check names the header in its source.
std::vector<PluginCheck> plugin_checks();

/// What a plugin costs, on so many nodes, in nanoseconds; 0 without it where no profile can do without it.
struct PluginCost {
  double decision_ns = 0, decision_without_ns = 0;  // every plugin is asked about every node
  double reused_ns = 0, reused_without_ns = 0;      // verdicts are reused, as in `berth run`
  std::size_t nodes = 0;
};
/// Medians of several rounds. Runs in this process. Fails as PluginUnderTest::make().
Result<PluginCost> measure_cost(const TestedPlugins& tested, std::size_t nodes, std::size_t rounds);

}  // namespace berth::app
