// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "framework/framework.hpp"
#include "model/plugin_set.hpp"

namespace berth::app {

/// What may wake a pod of that scheduler name which these plugins turned away, as they registered it: "NodeAdd",
/// "PodDelete", each once. Hints may still say no.
std::vector<std::string> wake_events(const framework::Framework& framework, std::string_view scheduler_name,
                                     const model::PluginSet& rejectors);

}  // namespace berth::app
