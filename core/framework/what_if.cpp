// SPDX-License-Identifier: Apache-2.0
#include "framework/what_if.hpp"

#include <algorithm>

#include "framework/plugin_call.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {

WhatIf::WhatIf(CycleContext& context, NodeBlocks& blocks, cache::Slot slot,
               std::span<const PluginInstance* const> filters)
    : context_(context),
      blocks_(blocks),
      slot_(slot),
      filters_(filters),
      row_(blocks.snapshot().row(slot)),
      states_(filters.size(), nullptr) {
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const PluginInstance& plugin = *filters_[i];
    if (context_.skips_filter(plugin) || plugin.prepare == nullptr || plugin.prepare->state_clone == nullptr) continue;
    const void* const own = context_.abi(plugin)->state;
    if (own == nullptr) continue;
    Note note;
    const Code code = call_plugin(plugin, observe::Point::state_clone, note, [&] {
      return plugin.prepare->state_clone(plugin.self(), own, &states_[i], note.abi());
    });
    if (code != Code::success && error_.empty())
      error_ = fmt::format("cloning the state of plugin \"{}\": {}", plugin.name(), note.text());
  }
}

WhatIf::~WhatIf() {
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const PluginInstance& plugin = *filters_[i];
    if (states_[i] == nullptr || plugin.prepare->state_free == nullptr) continue;
    Note note;
    call_plugin(plugin, observe::Point::state_free, note, [&] {
      plugin.prepare->state_free(plugin.self(), states_[i]);
      return berth_code{BERTH_OK};
    });
  }
}

std::string WhatIf::tell(const model::Pod& pod, bool added) {
  if (!error_.empty()) return error_;
  PodView view;
  view.reset(pod, context_.arena());
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    const PluginInstance& plugin = *filters_[i];
    if (context_.skips_filter(plugin) || plugin.prepare == nullptr) continue;
    const auto call = added ? plugin.prepare->pod_added : plugin.prepare->pod_removed;
    if (call == nullptr) continue;
    InstanceCycle cycle = context_.what_if(plugin, states_[i] != nullptr ? states_[i] : context_.abi(plugin)->state);
    Note note;
    const Code code = call_plugin(plugin, added ? observe::Point::add_pod : observe::Point::remove_pod, note, [&] {
      return call(plugin.self(), &cycle.abi, view.view(plugin.fields()), slot_, note.abi());
    });
    if (code != Code::success)
      return error_ = fmt::format("running {} on PreFilter plugin \"{}\": {}", added ? "AddPod" : "RemovePod",
                                  plugin.name(), note.text());
  }
  return {};
}

std::string WhatIf::add(const model::Pod& pod) {
  Host& host = context_.profile().instances.front()->host();
  row_.pods.push_back(~cache::PodHandle{0});  // counts; it is not looked up
  cache::charge(row_, pod, host.resources, host.lists, +1);
  return tell(pod, true);
}

std::string WhatIf::remove(const model::Pod& pod, cache::PodHandle handle) {
  Host& host = context_.profile().instances.front()->host();
  const auto at = std::find(row_.pods.begin(), row_.pods.end(), handle);
  if (at == row_.pods.end()) return error_ = fmt::format("no corresponding pod {} in pods of node", pod.name);
  *at = row_.pods.back();
  row_.pods.pop_back();
  cache::charge(row_, pod, host.resources, host.lists, -1);
  return tell(pod, false);
}

NodeVerdict WhatIf::judge() {
  if (!error_.empty()) {
    const PluginInstance* const plugin = filters_.empty() ? nullptr : filters_.front();
    return {Code::error, plugin, plugin != nullptr ? plugin->host().reasons.make({error_}) : 0};
  }
  return judge_what_if(context_, blocks_, slot_, row_, filters_, states_);
}

}  // namespace berth::framework
