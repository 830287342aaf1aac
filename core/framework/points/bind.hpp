// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// Called once with the outcome of a pre-bind or bind call, from any thread, possibly before the call returned.
using BindDone = std::function<void(Verdict)>;

struct PreBindCheck {
  Verdict verdict;  // success: will act; skip: left out; error
  bool parallel = false;
};

/// What a plugin may ask while its call is open; from any thread until done was called. Empty functions: no, yes, none.
struct BindFacts {
  std::function<bool()> cancelled = {};
  std::function<bool()> pod_exists = {};      // as the cluster has it now, same uid
  std::function<model::NodePtr()> node = {};  // null: gone
};

/// The calls of binding, one plugin at a time; order, grouping and the way back are binding's.
/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go.
PreBindCheck run_pre_bind_check(CycleContext& context, const PluginInstance& plugin, cache::Slot node);
void run_pre_bind(CycleContext& context, const PluginInstance& plugin, std::string node_name, BindFacts facts,
                  BindDone done);
/// skip hands the pod to the next bind plugin.
void run_bind(CycleContext& context, const PluginInstance& plugin, std::string node_name, BindFacts facts,
              BindDone done);
void run_post_bind(CycleContext& context, const PluginInstance& plugin, const std::string& node_name);

}  // namespace berth::framework
