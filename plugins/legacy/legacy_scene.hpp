// SPDX-License-Identifier: Apache-2.0
/// What the tests of this folder share: one policy of the library by its name, over a fake cluster.
#pragma once
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/what_if.hpp>

namespace berth::legacy::tests {

using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;
using Answers = std::vector<Answer>;

inline std::uint32_t index_of(std::string_view name) {
  const berth_library_v1* library = tested_library();
  for (std::uint32_t i = 0; i < library->plugin_count; ++i)
    if (library->plugins[i]->name == name) return i;
  throw std::logic_error("the library has no plugin " + std::string(name));
}

struct Scene {
  explicit Scene(std::string_view name, std::string_view args = {}, void (*install)(FakeHost&) = FakeCluster::install)
      : policy(tested_library(), args, install, index_of(name)) {}
  FakeCluster& cluster() { return FakeCluster::of(policy); }
  Attempt& attempt(const PodSpec& pod, std::vector<NodeSpec> nodes) {
    cluster().nodes = nodes;
    attempts.emplace_back(policy, pod, std::move(nodes));
    return attempts.back();
  }
  Answers filter(const PodSpec& pod, std::vector<NodeSpec> nodes) { return attempt(pod, std::move(nodes)).filter(); }
  Scores score(const PodSpec& pod, std::vector<NodeSpec> nodes) { return attempt(pod, std::move(nodes)).normalized(); }

  /// After pre_filter, which must succeed.
  Attempt& prepared(const PodSpec& pod, std::vector<NodeSpec> nodes) {
    Attempt& made = attempt(pod, std::move(nodes));
    const Outcome outcome = made.pre_filter();
    if (outcome.code != BERTH_OK) throw CallError(outcome);
    return made;
  }
  /// Scores after pre_score, which must succeed.
  Scores scored(const PodSpec& pod, std::vector<NodeSpec> nodes) {
    Attempt& made = attempt(pod, std::move(nodes));
    const Outcome outcome = made.pre_score();
    if (outcome.code != BERTH_OK) throw CallError(outcome);
    return made.normalized();
  }
  Policy policy;
  std::list<Attempt> attempts;
};

/// What create() says about these args; empty when it takes them.
inline std::string refusal(std::string_view name, std::string_view args) {
  try {
    Scene scene(name, args);
  } catch (const CallError& e) {
    return e.outcome.text;
  }
  return {};
}

/// The same name with each highest score in turn: {10, ...}, {100, ...}.
inline std::string with_max(int max_score, std::string_view members = {}) {
  return "{\"maxNodeScore\":" + std::to_string(max_score) + (members.empty() ? "" : ",") + std::string(members) + "}";
}

}  // namespace berth::legacy::tests
