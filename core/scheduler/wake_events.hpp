// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "framework/services/object_store.hpp"
#include "model/plugin_set.hpp"
#include "queue/queue_view.hpp"

namespace berth::scheduler {

/// The names of what may wake a pod of that scheduler name which these plugins rejected: "NodeAdd", "PodDelete", each
/// once. Hints may still say no. `objects` knows what is watched.
std::vector<std::string> wake_events(const queue::QueueView& queue, const framework::ObjectStore& objects,
                                     std::string_view scheduler_name, const model::PluginSet& rejectors);

}  // namespace berth::scheduler
