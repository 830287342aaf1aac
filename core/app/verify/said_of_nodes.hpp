// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/verify/plugin_under_test.hpp"
#include "app/verify/trial.hpp"
#include "report/decision.hpp"

namespace berth::app {

/// Null where it cannot be made, which is a finding.
std::unique_ptr<PluginUnderTest> make_or_say(const TestedPlugins& tested, Findings& findings,
                                             PluginUnderTest::Options options = {});

/// Says the first few findings of many, and at its end how many more there are.
class Examples {
 public:
  explicit Examples(Findings& findings) : findings_(findings) {}
  ~Examples();
  Examples(const Examples&) = delete;
  Examples& operator=(const Examples&) = delete;
  void add(std::string what);

 private:
  Findings& findings_;
  std::size_t count_ = 0;
};

/// Finds the decisions in which a tested plugin has failed, and not just said no. `when`: what stands before the pod.
void say_errors(const std::vector<report::Decision>& decisions, const TestedPlugins& tested, std::string_view when,
                Findings& findings);
/// Finds the misuse of that kind that the host has seen so far.
void say_misuse(PluginUnderTest& plugin, framework::Misuse kind, Findings& findings);

/// What the tested plugins say of nodes, by pod and then by node; "*" is the pod as a whole.
using Answers = std::map<std::string, std::map<std::string, std::string>>;
Answers explained(PluginUnderTest& plugin, const std::vector<model::PodPtr>& pods, const TestedPlugins& tested);
/// Finds what is said differently the second time. A node that only one of them speaks of is left out.
void compare(const Answers& first, const Answers& second, std::string_view when, Findings& findings);

}  // namespace berth::app
