// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "config/profile.hpp"
#include "model/field_need.hpp"

namespace berth::app {

/// What pods may not ask for in some profile of the configuration, because berth lacks the plugin that would honour it.
std::vector<model::FieldNeed> field_needs(const config::Configuration& configuration);

}  // namespace berth::app
