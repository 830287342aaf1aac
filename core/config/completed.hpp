// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "config/profile.hpp"
#include "config/raw_configuration.hpp"

namespace berth::config {

/// The configuration with every default written out, as two YAML documents: plugin sets as merged over the default
/// profile, args of every plugin that has a schema sorted by name. Reading it again gives the same configuration.
/// Requires: `configuration` is what resolve() made of `raw`, without problems.
std::string completed_yaml(const RawConfiguration& raw, const Configuration& configuration);

}  // namespace berth::config
