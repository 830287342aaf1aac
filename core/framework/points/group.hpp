// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/points/permit.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// The name of the pod's group within its namespace; empty: none. Fails when the plugin cannot tell. Requires:
/// plugin.group. Threads: any.
Result<std::string> group_of(const PluginInstance& plugin, const model::Pod& pod);

/// What a group needs before one of its members may get a node.
struct Quorum {
  Verdict verdict;  // a rejection holds the members back; else success, or an error
  std::uint32_t needed = 0;
  PermitWait hold;  // how long placed members wait for the rest
};
/// Requires: plugin.group. [cycle]
Quorum ask_quorum(const PluginInstance& plugin, const model::Pod& pod);

}  // namespace berth::framework
