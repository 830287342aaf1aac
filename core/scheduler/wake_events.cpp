// SPDX-License-Identifier: Apache-2.0
#include "scheduler/wake_events.hpp"

#include <algorithm>

#include "ingest/ingest.hpp"

namespace berth::scheduler {
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

std::string name_of(const framework::ObjectStore& objects, const queue::WakingEvent& waking, EventActions action) {
  const auto number = static_cast<std::uint32_t>(waking.event.resource),
             first = static_cast<std::uint32_t>(EventResource::first_watch);
  if (number < first) return model::ClusterEvent{waking.event.resource, action, {}}.name();
  return std::string(
      ingest::event_label(waking.watched.empty() ? objects.resource_of(number - first) : waking.watched, action));
}

}  // namespace

std::vector<std::string> wake_events(const queue::QueueView& queue, const framework::ObjectStore& objects,
                                     std::string_view scheduler_name, const model::PluginSet& rejectors) {
  std::vector<std::string> out;
  for (const queue::WakingEvent& waking : queue.waking_events(scheduler_name, rejectors)) {
    if (!waking.watched.empty() && objects.watches_of(waking.watched).empty()) continue;
    for (const EventActions action : named_parts(waking.event.actions)) {
      std::string name = name_of(objects, waking, action);
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
    }
  }
  return out;
}

}  // namespace berth::scheduler
