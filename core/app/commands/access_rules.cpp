// SPDX-License-Identifier: Apache-2.0
#include "app/commands/access_rules.hpp"

#include <algorithm>

namespace berth::app {
namespace {

/// Lower-case words as the API server has them: nothing that would need quoting in YAML, or mean more than one thing.
bool is_plain(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || extra.find(c) != std::string_view::npos;
  });
}

std::optional<AccessRule> rule_of(std::string_view group, std::string_view resource, std::vector<std::string> verbs) {
  const bool plain =
      is_plain(group, "-.") && is_plain(resource, "-/") &&
      std::all_of(verbs.begin(), verbs.end(), [](const std::string& verb) { return is_plain(verb, ""); });
  if (!plain) return std::nullopt;
  return AccessRule{group == "core" ? "" : std::string(group), std::string(resource), std::move(verbs)};
}

}  // namespace

std::optional<AccessRule> rule_of_watch(std::string_view watch) {
  const std::size_t first = watch.find('/');
  const std::size_t second = first == std::string_view::npos ? first : watch.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return rule_of(watch.substr(0, first), watch.substr(second + 1), {"get", "list", "watch"});
}

std::optional<AccessRule> rule_of_rbac(std::string_view rbac) {
  const std::size_t blank = rbac.find(' ');
  const std::size_t slash = blank == std::string_view::npos ? blank : rbac.find('/', blank);
  if (slash == std::string_view::npos) return std::nullopt;
  return rule_of(rbac.substr(blank + 1, slash - blank - 1), rbac.substr(slash + 1),
                 {std::string(rbac.substr(0, blank))});
}

}  // namespace berth::app
