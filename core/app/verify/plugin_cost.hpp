// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "app/verify/plugin_under_test.hpp"
#include "base/result.hpp"

namespace berth::app {

/// What plugins cost on so many nodes: nanoseconds of a decision up to permit, which is given back. Without them 0 where no
/// profile can do without them.
struct PluginCost {
  double decision_ns = 0, decision_without_ns = 0;  // every plugin is asked about every node
  double reused_ns = 0, reused_without_ns = 0;      // verdicts are reused, as in `berth run`
  std::size_t nodes = 0;

  /// What they add for each node; at least 0.
  double node_ns() const noexcept;
};

/// Medians of so many rounds. Runs in this process. Fails as PluginUnderTest::make().
Result<PluginCost> measure_cost(const TestedPlugins& tested, std::size_t nodes, std::size_t rounds);

/// Whether there is a profile without the plugins: not where they are its only binder, or order its queue.
bool has_profile_without(const TestedPlugins& tested);

}  // namespace berth::app
