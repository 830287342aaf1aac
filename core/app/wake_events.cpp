// SPDX-License-Identifier: Apache-2.0
#include "app/wake_events.hpp"

#include <algorithm>

#include "app/framework_adapters.hpp"
#include "ingest/ingest.hpp"

namespace berth::app {
namespace {

using model::EventActions;
using model::EventResource;

/// The parts of a combination that have a name.
std::vector<EventActions> named_parts(EventActions actions) {
  if (actions == model::actions::all) return {actions};
  std::vector<EventActions> out;
  const bool has_all_updates = (actions & model::actions::update) == model::actions::update;
  for (EventActions bit = 1; bit <= model::actions::update; bit <<= 1)
    if ((actions & bit) != 0 && !(has_all_updates && (bit & model::actions::update) != 0)) out.push_back(bit);
  if (has_all_updates) out.push_back(model::actions::update);
  return out;
}

std::string name_of(const framework::ProfileRuntime& profile, EventResource resource, EventActions action) {
  const auto number = static_cast<std::uint32_t>(resource),
             first = static_cast<std::uint32_t>(EventResource::first_watch);
  if (number < first || profile.instances.empty()) return model::ClusterEvent{resource, action, {}}.name();
  const framework::ObjectStore& objects = profile.instances.front()->host().objects;
  return std::string(ingest::event_label(objects.resource_of(number - first), action));
}

}  // namespace

std::vector<std::string> wake_events(const framework::Framework& framework, std::string_view scheduler_name,
                                     const model::PluginSet& rejectors) {
  std::vector<std::string> out;
  HintMetrics unused;
  const queue::HintTable hints = make_hint_table(framework, unused);
  const std::uint16_t number = hints.profile_of(scheduler_name);
  if (number == queue::HintTable::k_no_profile) return out;
  for (const queue::Registration& registration : hints.profile(number).registrations) {
    if (!rejectors.contains(registration.plugin)) continue;
    const model::ClusterEvent& registered = registration.registered;
    for (const EventActions action : named_parts(registered.actions)) {
      std::string name = name_of(*framework.profiles()[number], registered.resource, action);
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
    }
  }
  return out;
}

}  // namespace berth::app
