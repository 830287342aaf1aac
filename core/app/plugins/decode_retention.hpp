// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "config/profile.hpp"
#include "decode/object_decoder.hpp"
#include "framework/framework.hpp"
#include "model/field_need.hpp"

/// What of objects is read and kept: only what plugins, extenders or gates ask for.
namespace berth::app {

/// Tells the decoder what it has to keep of objects so that the extenders can be asked about them.
void keep_for_extenders(const config::Configuration& configuration, decode::DecodeOptions& options);
/// Which fields of pods count, as the feature gates of the configuration say.
void read_as_gated(const config::Configuration& configuration, decode::DecodeOptions& options);
/// Keeps of pods what plugins of any profile see: whole pods as JSON, annotations, volumes that no policy judges.
void keep_for_plugins(const framework::Framework& framework, decode::DecodeOptions& options);
/// What pods may not ask for in some profile of the configuration, because berth lacks the plugin that would honour it.
std::vector<model::FieldNeed> field_needs(const config::Configuration& configuration);

/// All of these: how objects are decoded for a scheduler of this configuration. Which objects are watched is the caller's.
decode::DecodeOptions decode_options(const config::Configuration& configuration, const framework::Framework& framework);

}  // namespace berth::app
