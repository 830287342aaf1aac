// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "framework/bind_calls.hpp"
#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// What a pre-bind plugin says before anything is written.
struct PreBindCheck {
  Verdict verdict;        // success: will act; skip: left out; error
  bool parallel = false;  // may run at the same time as neighbours that say so too
};

/// What a call is about in addition to the pod. `lookups` outlives the call.
struct BindTarget {
  std::string node_name;
  const BindLookups& lookups;
  CancelFlag cancelled;
};

/// The calls of binding, one plugin at a time; order, grouping and the way back are binding's.
/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go.
PreBindCheck run_pre_bind_check(CycleContext& context, const PluginInstance& plugin, cache::Slot node);
/// success, a rejection, or an error.
void run_pre_bind(CycleContext& context, const PluginInstance& plugin, BindTarget target, BindDone done);
/// Likewise; skip hands the pod to the next bind plugin.
void run_bind(CycleContext& context, const PluginInstance& plugin, BindTarget target, BindDone done);
/// All post-bind plugins, in order.
void run_post_bind(CycleContext& context, const std::string& node_name);

}  // namespace berth::framework
