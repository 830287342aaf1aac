// SPDX-License-Identifier: Apache-2.0
#include "preemption/what_if.hpp"

#include <algorithm>

#include "framework/plugin_call.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::preemption {

WhatIf::WhatIf(framework::CycleContext& context, framework::NodeBlocks& blocks, cache::Slot slot,
               std::span<const framework::PluginInstance* const> filters)
    : context_(context),
      blocks_(blocks),
      slot_(slot),
      filters_(filters),
      row_(blocks.snapshot().row(slot)),
      states_(filters.size(), nullptr) {
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const framework::PluginInstance& plugin = *filters_[i];
    if (context_.skips_filter(plugin) || plugin.prepare == nullptr || plugin.prepare->state_clone == nullptr) continue;
    const void* const own = context_.abi(plugin)->state;
    if (own == nullptr) continue;
    framework::Note note;
    const framework::Code code = framework::call_plugin(plugin, observe::Point::state_clone, note, [&] {
      return plugin.prepare->state_clone(plugin.self(), own, &states_[i], note.abi());
    });
    if (code != framework::Code::success && error_.empty())
      error_ = fmt::format("cloning the state of plugin \"{}\": {}", plugin.name(), note.text());
  }
}

WhatIf::~WhatIf() {
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const framework::PluginInstance& plugin = *filters_[i];
    if (states_[i] == nullptr || plugin.prepare->state_free == nullptr) continue;
    framework::Note note;
    framework::call_plugin(plugin, observe::Point::state_free, note, [&] {
      plugin.prepare->state_free(plugin.self(), states_[i]);
      return berth_code{BERTH_OK};
    });
  }
}

Error WhatIf::fail(std::string why) {
  error_ = std::move(why);
  return Error{error_};
}

Status WhatIf::tell(const model::Pod& pod, bool added) {
  if (!error_.empty()) return Error{error_};
  framework::PodView view;
  view.reset(pod, context_.snapshot_arena());
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const framework::PluginInstance& plugin = *filters_[i];
    if (context_.skips_filter(plugin) || plugin.prepare == nullptr) continue;
    const auto call = added ? plugin.prepare->pod_added : plugin.prepare->pod_removed;
    if (call == nullptr) continue;
    framework::InstanceCycle cycle =
        context_.what_if(plugin, states_[i] != nullptr ? states_[i] : context_.abi(plugin)->state);
    framework::Note note;
    const framework::Code code = framework::call_plugin(
        plugin, added ? observe::Point::add_pod : observe::Point::remove_pod, note,
        [&] { return call(plugin.self(), &cycle.abi, view.view(plugin.fields()), slot_, note.abi()); });
    if (code != framework::Code::success && code != framework::Code::skip)
      return fail(fmt::format("running {} on PreFilter plugin \"{}\": {}", added ? "AddPod" : "RemovePod",
                              plugin.name(), note.text()));
  }
  return Unit{};
}

Status WhatIf::add(const model::Pod& pod, cache::PodHandle handle) {
  framework::Host& host = context_.profile().instances.front()->host();
  row_.pods.push_back(handle);
  cache::charge(row_, pod, host.resources, host.lists, +1);
  return tell(pod, true);
}

Status WhatIf::remove(const model::Pod& pod, cache::PodHandle handle) {
  framework::Host& host = context_.profile().instances.front()->host();
  const auto at = std::find(row_.pods.begin(), row_.pods.end(), handle);
  if (at == row_.pods.end()) return fail(fmt::format("no corresponding pod {} in pods of node", pod.name));
  *at = row_.pods.back();
  row_.pods.pop_back();
  cache::charge(row_, pod, host.resources, host.lists, -1);
  return tell(pod, false);
}

framework::NodeVerdict WhatIf::judge() {
  if (!error_.empty()) {
    const framework::PluginInstance* const plugin = filters_.empty() ? nullptr : filters_.front();
    return {framework::Code::error, plugin, plugin != nullptr ? plugin->host().reasons.make({error_}) : 0};
  }
  return framework::judge_what_if(context_, blocks_, slot_, row_, filters_, states_);
}

}  // namespace berth::preemption
