// SPDX-License-Identifier: Apache-2.0
/// What Kubernetes accepts as a label key and as a label value, with upstream's sentences about the rest.
///
/// For args and for selectors that a policy parses itself; the host has judged those of pods and nodes already.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/util/validation.
/// Units:   lengths are bytes. Threads: any. Errors: std::bad_alloc only; what is wrong is the answer.
#pragma once
#include <berth/types.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace berth {
inline namespace sdk {
namespace detail {

/// ASCII only, as the regular expressions of upstream.
constexpr bool is_alphanumeric(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Letters, digits, '-', '_' and '.', with a letter or digit at both ends. Of any length: callers look at that.
inline bool is_name_part(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// Dot-separated lower-case labels, each with a letter or digit at both ends. Of any length. Source:
/// IsDNS1123Subdomain.
inline bool is_subdomain(std::string_view text) {
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  // Part by part; an empty one, as of two dots, is none.
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !lower(part.front()) || !lower(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [&](char c) { return lower(c) || c == '-'; })) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// Upstream's sentence, two spaces and all: the parts of qualifiedNameErrMsg.
inline constexpr std::string_view k_name_rule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc'";
// As it stands in the sentences, for people; what is checked is is_name_part().
inline constexpr std::string_view k_name_regex = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

}  // namespace detail

/// Empty when `name` is a label key ("app", "example.com/rack"): a name of at most 63 bytes, and a DNS subdomain of
/// at most 253 before the slash, if there is one. Also the rule for resource names. Else one sentence per problem, in
/// upstream's order. Source: IsQualifiedName.
inline std::vector<std::string> qualified_name_problems(std::string_view name) {
  std::vector<std::string> problems;
  // The tail of three sentences.
  const std::string regex = std::string(", regex used for validation is '") + std::string(detail::k_name_regex) + "')";
  std::string_view part = name;
  // Without a slash the whole name is the name part.
  if (const std::size_t slash = name.find('/'); slash != name.npos) {
    const std::string_view prefix = name.substr(0, slash);
    part = name.substr(slash + 1);
    // Upstream says this one alone, and nothing of the parts.
    if (part.find('/') != part.npos) {
      return {"a qualified name " + std::string(detail::k_name_rule) + regex +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    // An empty prefix has no further problems.
    if (prefix.empty()) {
      problems.push_back("prefix part must be non-empty");
    } else {
      if (prefix.size() > 253) problems.push_back("prefix part must be no more than 253 bytes");
      if (!detail::is_subdomain(prefix)) {
        problems.push_back(
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
            "'.', "
            "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
      }
    }
  }
  // All that apply: an empty name breaks two rules, and is told so.
  if (part.empty()) problems.push_back("name part must be non-empty");
  if (part.size() > 63) problems.push_back("name part must be no more than 63 bytes");
  if (!detail::is_name_part(part)) problems.push_back("name part " + std::string(detail::k_name_rule) + regex);
  return problems;
}

/// Empty when `value` may stand as a label's value: nothing at all, or at most 63 bytes of a name. Else one sentence
/// per problem. Source: IsValidLabelValue.
inline std::vector<std::string> label_value_problems(std::string_view value) {
  std::vector<std::string> problems;
  // Length and letters are two rules.
  if (value.size() > 63) problems.push_back("must be no more than 63 bytes");
  if (!value.empty() && !detail::is_name_part(value)) {
    problems.push_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and "
        "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  }
  return problems;
}

}  // namespace sdk
}  // namespace berth
