// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"
#include "model/nomination.hpp"

namespace berth::framework {

/// What post-filter answered for the pod.
struct PostFilterResult {
  bool ran = false;  // false: the profile has no post-filter plugin
  Code code = Code::success;
  std::string message;  // joined sentences; empty on plain success
  model::Nomination nomination;
  cache::Slot node = cache::k_no_slot;        // that of the nomination
  std::vector<std::string> victims;           // uids
  const PluginInstance* nominator = nullptr;  // the plugin that nominated
};

/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go (RunPostFilterPlugins).
PostFilterResult run_post_filter(CycleContext& context, const std::uint64_t* unschedulable,
                                 const std::uint64_t* unresolvable, std::size_t word_count);

}  // namespace berth::framework
