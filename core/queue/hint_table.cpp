// SPDX-License-Identifier: Apache-2.0
#include "queue/hint_table.hpp"

#include <iterator>

namespace berth::queue {

std::uint16_t HintTable::profile_of(std::string_view scheduler_name) const noexcept {
  for (std::size_t i = 0; i < profiles_.size(); ++i)
    if (profiles_[i].scheduler_name == scheduler_name) return static_cast<std::uint16_t>(i);
  return k_no_profile;
}

model::PluginSet HintTable::askers(const model::ClusterEvent& incoming) const {
  model::PluginSet result;
  for (const ProfileHints& profile : profiles_)
    for (const Registration& registration : profile.registrations)
      if (model::matches(registration.registered, incoming)) result.insert(registration.plugin);
  return result;
}

bool HintTable::asked(model::PluginIndex plugin, const model::ClusterEvent& incoming) const noexcept {
  for (const ProfileHints& profile : profiles_)
    for (const Registration& registration : profile.registrations)
      if (registration.plugin == plugin && model::matches(registration.registered, incoming)) return true;
  return false;
}

void append_registrations(std::vector<Registration>& to, std::vector<Registration> own) {
  bool hears_of_new_nodes = false, hears_of_taints = false;
  model::PluginIndex plugin = model::k_no_plugin;
  for (const Registration& registration : own) {
    if (registration.registered.resource != model::EventResource::node) continue;
    hears_of_new_nodes |= (registration.registered.actions & model::actions::add) != 0;
    hears_of_taints |= (registration.registered.actions & model::actions::update_node_taint) != 0;
    plugin = registration.plugin;
  }
  to.insert(to.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  if (hears_of_new_nodes && !hears_of_taints) {
    Registration taints;
    taints.registered = {model::EventResource::node, model::actions::update_node_taint, {}};
    taints.plugin = plugin;
    to.push_back(std::move(taints));
  }
}

std::vector<Registration> default_registrations(model::PluginIndex plugin) {
  using model::EventResource;
  static constexpr EventResource k_resources[] = {EventResource::pod,
                                                  EventResource::node,
                                                  EventResource::persistent_volume,
                                                  EventResource::csi_node,
                                                  EventResource::csi_driver,
                                                  EventResource::persistent_volume_claim,
                                                  EventResource::csi_storage_capacity,
                                                  EventResource::storage_class,
                                                  EventResource::resource_claim,
                                                  EventResource::device_class};
  std::vector<Registration> result;
  for (const EventResource resource : k_resources) {
    Registration registration;
    registration.registered = {resource, model::actions::all, {}};
    registration.plugin = plugin;
    result.push_back(std::move(registration));
  }
  return result;
}

}  // namespace berth::queue
