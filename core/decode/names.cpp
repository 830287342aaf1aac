// SPDX-License-Identifier: Apache-2.0
#include "decode/names.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace berth::decode {
namespace {

constexpr std::size_t k_max_name_bytes = 63;
constexpr std::size_t k_max_subdomain_bytes = 253;

bool is_lower_or_digit(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) noexcept { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

/// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_name(std::string_view text) noexcept {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// [a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*
bool is_subdomain(std::string_view text) noexcept {
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

constexpr std::string_view k_name_words =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  "
    "or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view k_subdomain_words =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view k_value_words =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

void append(std::string& out, std::string_view a, std::string_view b) {
  if (!out.empty()) out += "; ";
  out.append(a).append(b);
}

bool has_prefix(std::string_view text, std::string_view prefix) noexcept {
  return text.substr(0, prefix.size()) == prefix;
}
bool is_native(std::string_view name) noexcept {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

}  // namespace

bool is_label_key(std::string_view key) noexcept {
  const std::size_t slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (name.size() > k_max_name_bytes || !is_name(name)) return false;
  return slash == std::string_view::npos || (slash <= k_max_subdomain_bytes && is_subdomain(key.substr(0, slash)));
}

std::string label_key_error(std::string_view key) {
  if (std::count(key.begin(), key.end(), '/') > 1)
    return fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                       k_name_words);
  std::string error;
  const std::size_t slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty()) append(error, "prefix part ", "must be non-empty");
    if (prefix.size() > k_max_subdomain_bytes) append(error, "prefix part ", "must be no more than 253 bytes");
    if (!prefix.empty() && !is_subdomain(prefix)) append(error, "prefix part ", k_subdomain_words);
  }
  if (name.empty()) append(error, "name part ", "must be non-empty");
  if (name.size() > k_max_name_bytes) append(error, "name part ", "must be no more than 63 bytes");
  if (!is_name(name)) append(error, "name part ", k_name_words);
  return error;
}

bool is_label_value(std::string_view value) noexcept {
  return value.empty() || (value.size() <= k_max_name_bytes && is_name(value));
}

std::string label_value_error(std::string_view value) {
  std::string error;
  if (value.size() > k_max_name_bytes) append(error, "must be no more than 63 bytes", {});
  if (!value.empty() && !is_name(value)) append(error, k_value_words, {});
  return error;
}

bool is_extended_resource(std::string_view name) noexcept {
  if (is_native(name) || has_prefix(name, "requests.")) return false;
  // It must stay a label key behind "requests.", as quotas name it: only the prefix grows.
  const std::size_t slash = name.find('/');
  return is_label_key(name) && slash + std::string_view("requests.").size() <= k_max_subdomain_bytes;
}

bool is_scalar_resource(std::string_view name) noexcept {
  return has_prefix(name, "hugepages-") || name.find("kubernetes.io/") != std::string_view::npos ||
         has_prefix(name, "attachable-volumes-") || is_extended_resource(name);
}

bool is_pod_level_resource(std::string_view name) noexcept {
  return name == "cpu" || name == "memory" || has_prefix(name, "hugepages-");
}

}  // namespace berth::decode
