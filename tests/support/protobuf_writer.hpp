// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "support/poison.hpp"

// Internal to the test API server, and for tests: the way back from JSON to what a server sends as protobuf.
namespace berth::tests {

/// An object or a list with its envelope. Nothing: its kind has no layout, as a custom resource has none.
std::optional<std::string> to_protobuf(std::string_view json, const Poisons& poisons = {});
/// The lines of a watch as frames. Nothing: some object has no layout.
std::optional<std::string> to_protobuf_frames(std::string_view lines, const Poisons& poisons = {});

}  // namespace berth::tests
