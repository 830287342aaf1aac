// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace berth::app {

struct PluginBenchOptions {
  std::string file;
  std::string config;      // with the plugins in a profile; empty: they are added to the default profile
  std::string plugin_dir;  // of berth's own plugins
  std::uint32_t nodes = 5'000;
  std::uint32_t rounds = 15;
  bool json = false;
  std::string product;
  std::vector<std::string> host_services;
};

/// `berth plugin bench`: what the plugins of a file cost for each decision and each node, compared with the same profile
/// without them. In a process of its own, as verify. Returns 0, or 1 when they cannot be used.
int bench_plugin(const PluginBenchOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
