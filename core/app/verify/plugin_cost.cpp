// SPDX-License-Identifier: Apache-2.0
#include "app/verify/plugin_cost.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "app/verify/awkward_clusters.hpp"

namespace berth::app {
namespace {

/// Medians of an attempt, in nanoseconds.
Result<double> attempt_ns(const TestedPlugins& tested, const PluginUnderTest::Options& options, std::size_t nodes,
                          std::size_t rounds) {
  auto made = PluginUnderTest::make(tested, options);
  if (!made.ok()) return made.error();
  const std::vector<model::PodPtr> pods = (*made)->put(mixed_nodes(nodes) + mixed_pods(4));
  (*made)->simulation().take_in();
  std::vector<double> taken_ns;
  for (std::size_t round = 0; round < rounds + 2; ++round) {  // two to get warm
    const auto began = std::chrono::steady_clock::now();
    for (const model::PodPtr& pod : pods) (*made)->scheduler().try_pod(pod, [](const cycle::Attempt&) {});
    if (round >= 2)
      taken_ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count() /
                         static_cast<double>(pods.size()));
  }
  std::sort(taken_ns.begin(), taken_ns.end());
  return taken_ns[taken_ns.size() / 2];
}

}  // namespace

double PluginCost::node_ns() const noexcept {
  return nodes == 0 ? 0 : std::max(decision_ns - decision_without_ns, 0.0) / static_cast<double>(nodes);
}

bool has_profile_without(const TestedPlugins& tested) {
  return PluginUnderTest::make(tested, {.with_plugins = false}).ok();
}

Result<PluginCost> measure_cost(const TestedPlugins& tested, std::size_t nodes, std::size_t rounds) {
  PluginCost cost;
  cost.nodes = nodes;
  const bool is_compared = has_profile_without(tested);
  const struct {
    double& ns;
    PluginUnderTest::Options options;
  } kinds[] = {{cost.decision_ns, {.reuse = config::VerdictReuse::off}},
               {cost.decision_without_ns, {.reuse = config::VerdictReuse::off, .with_plugins = false}},
               {cost.reused_ns, {.reuse = config::VerdictReuse::on}},
               {cost.reused_without_ns, {.reuse = config::VerdictReuse::on, .with_plugins = false}}};
  for (const auto& kind : kinds) {
    if (!kind.options.with_plugins && !is_compared) continue;
    const Result<double> taken = attempt_ns(tested, kind.options, nodes, std::max<std::size_t>(rounds, 1));
    if (!taken.ok()) return taken.error();
    kind.ns = *taken;
  }
  return cost;
}

}  // namespace berth::app
