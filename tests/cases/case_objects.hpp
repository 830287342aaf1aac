// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "text/diagnostics.hpp"
#include "text/value.hpp"

/// The short forms of pods and nodes in case files, written out as the objects they stand for. README.md lists the
/// keys.
namespace berth::cases {

/// JSON of the Pod or Node. A mapping with apiVersion and kind is taken as it is. Unknown keys are problems.
std::string pod_manifest(const text::Value& pod, const std::string& file, text::Diagnostics& problems);
std::string node_manifest(const text::Value& node, const std::string& file, text::Diagnostics& problems);

}  // namespace berth::cases
