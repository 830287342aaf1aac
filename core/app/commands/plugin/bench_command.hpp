// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <iosfwd>

#include "app/commands/plugin/plugin_command.hpp"

namespace berth::app {

struct PluginBenchOptions : TestedFileOptions {
  std::uint32_t nodes = 5'000;
  std::uint32_t rounds = 15;
};

/// `berth plugin bench`: what the plugins of a file cost for each decision and each node, compared with the same profile
/// without them. In a process of its own, as verify. Returns 0, or 1 when they cannot be used.
int bench_plugin(const PluginBenchOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
