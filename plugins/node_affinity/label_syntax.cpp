// SPDX-License-Identifier: Apache-2.0
#include "label_syntax.hpp"

#include <algorithm>

namespace node_affinity {
namespace {

constexpr std::size_t k_max_name_bytes = 63;
constexpr std::size_t k_max_subdomain_bytes = 253;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

/// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_name(std::string_view text) {
  const auto inner = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), inner);
}

/// Dot-separated parts of lower-case letters, digits and inner hyphens.
bool is_subdomain(std::string_view text) {
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

constexpr std::string_view k_name_rule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view k_subdomain_rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view k_value_rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

void add(std::string& errors, std::string_view part, std::string_view rule) {
  if (!errors.empty()) errors += "; ";
  errors.append(part).append(rule);
}

}  // namespace

std::string label_key_error(std::string_view key) {
  if (std::count(key.begin(), key.end(), '/') > 1) {
    return "a valid label key " + std::string(k_name_rule) +
           " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  }
  std::string errors;
  const std::size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    if (prefix.empty()) {
      add(errors, "prefix part ", "must be non-empty");
    } else {
      if (prefix.size() > k_max_subdomain_bytes) add(errors, "prefix part ", "must be no more than 253 bytes");
      if (!is_subdomain(prefix)) add(errors, "prefix part ", k_subdomain_rule);
    }
  }
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (name.empty()) add(errors, "name part ", "must be non-empty");
  if (name.size() > k_max_name_bytes) add(errors, "name part ", "must be no more than 63 bytes");
  if (!is_name(name)) add(errors, "name part ", k_name_rule);
  return errors;
}

std::string label_value_error(std::string_view value) {
  std::string errors;
  if (value.size() > k_max_name_bytes) add(errors, "", "must be no more than 63 bytes");
  if (!value.empty() && !is_name(value)) add(errors, "", k_value_rule);
  return errors;
}

}  // namespace node_affinity
