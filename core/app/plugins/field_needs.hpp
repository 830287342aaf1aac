// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "decode/field_need.hpp"

namespace berth::app {

/// What pods may not ask for as long as berth lacks the plugin that would honour it.
std::vector<decode::FieldNeed> field_needs();

}  // namespace berth::app
