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

}  // namespace berth::app
