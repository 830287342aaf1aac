// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/api_server/api_objects.hpp"

namespace berth::tests {

/// What a server sends in place of an object that it holds. Either part may be empty.
struct Poison {
  std::function<void(json::object& object, bool is_protobuf)> edit = {};  // before it is encoded
  std::function<void(std::string& bytes, bool is_protobuf)> damage = {};  // after; of the object alone
};
using Poisons = std::map<std::string, Poison>;  // by metadata.name

/// The same JSON with its objects poisoned: one object, or a list.
std::string poisoned_json(std::string_view text, const Poisons& poisons);
/// Likewise the lines of a watch.
std::string poisoned_lines(std::string_view lines, const Poisons& poisons);

}  // namespace berth::tests
