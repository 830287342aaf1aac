// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What berth and its plugins ask the API server for, as RBAC names it.
namespace berth::app {

struct AccessRule {
  std::string group;     // empty: core
  std::string resource;  // "pods/binding" for a subresource
  std::vector<std::string> verbs;
  std::string ns = {}, name = {};  // empty: all of them
};

/// Of "core/v1/services", as a plugin's note lists what it watches; nothing when that is no such text.
std::optional<AccessRule> rule_of_watch(std::string_view watch);
/// Of "create core/pods/binding", as a note lists what it does besides.
std::optional<AccessRule> rule_of_rbac(std::string_view rbac);

}  // namespace berth::app
