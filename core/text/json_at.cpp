// SPDX-License-Identifier: Apache-2.0
#include "text/json_at.hpp"

#include <algorithm>

namespace berth::text {
namespace {

/// The end of the JSON value that begins at `at`; the end of the text when that comes first.
std::size_t end_of_value(std::string_view json, std::size_t at) {
  std::size_t open = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      for (++at; at < json.size() && json[at] != '"'; ++at)
        if (json[at] == '\\') ++at;
      at = std::min(at + 1, json.size());
      if (open == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++open;
    if (c == '}' || c == ']') {
      if (open == 0) return at;
      if (--open == 0) return at + 1;
    }
    if (open == 0 && c == ',') return at;
    ++at;
  }
  return at;
}

/// The last member of that name in the text of an object; empty: there is none.
std::string_view json_member(std::string_view json, std::string_view key) {
  constexpr std::string_view k_space = " \t\r\n";
  std::string_view found;
  std::size_t at = json.find_first_not_of(k_space);
  if (at == std::string_view::npos || json[at] != '{') return found;
  for (++at; (at = json.find('"', at)) != std::string_view::npos;) {
    const std::size_t key_end = end_of_value(json, at);
    const std::size_t colon = json.find(':', key_end);
    const std::size_t begin = colon == std::string_view::npos ? colon : json.find_first_not_of(k_space, colon + 1);
    if (begin == std::string_view::npos) return found;
    const std::size_t end = end_of_value(json, begin);
    if (json.substr(at + 1, key_end - at - 2) == key) found = json.substr(begin, end - begin);
    at = end;
  }
  return found;
}

}  // namespace

std::string_view json_at(std::string_view json, std::string_view path) {
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    json = json_member(json, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return json;
}

}  // namespace berth::text
