// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/profile.hpp"
#include "decode/object_decoder.hpp"
#include "framework/framework.hpp"

/// What of objects is kept beyond what scheduling reads: only what plugins, extenders or flags ask for.
namespace berth::app {

/// Tells the decoder what it has to keep of objects so that the extenders can be asked about them.
void keep_for_extenders(const config::Configuration& configuration, decode::DecodeOptions& options);
/// Which fields of pods count, as the feature gates of the configuration say.
void read_as_gated(const config::Configuration& configuration, decode::DecodeOptions& options);
/// Keeps of pods what plugins of any profile see: whole pods as JSON, annotations, volumes that no policy judges.
void keep_for_plugins(const framework::Framework& framework, decode::DecodeOptions& options);

}  // namespace berth::app
