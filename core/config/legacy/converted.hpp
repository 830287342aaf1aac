// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "config/raw_configuration.hpp"

namespace berth::config {

/// A configuration of an older scheduler as one of today: a KubeSchedulerConfiguration of v1 with a comment at each
/// change, and a BerthConfiguration where one is needed. What was of today already is printed as it was read. Loading
/// it again means the same.
std::string converted_yaml(const RawConfiguration& raw);

}  // namespace berth::config
