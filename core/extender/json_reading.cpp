// SPDX-License-Identifier: Apache-2.0
#include "extender/json_reading.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.hpp"
#include "text/builder.hpp"
#include "text/parse.hpp"

namespace berth::extender {
namespace {

constexpr std::string_view k_space = " \t\r\n";

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Where the first value ends: the bracket that closes it. Whether it is sound is the parser's business.
std::string_view first_value(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(k_space), text.size());
  text.remove_prefix(begin);
  if (text.empty()) return text;
  if (text.front() != '{' && text.front() != '[') return text.substr(0, text.find_first_of(k_space));
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return text.substr(0, i + 1);
    }
  }
  return text;
}

Error wrong(std::string_view where, std::string_view wanted) {
  return {fmt::format("{} is not {}", where.empty() ? "the answer" : where, wanted)};
}

}  // namespace

Result<text::Document> parse_first(std::string_view text) {
  const std::string_view value = first_value(text);
  if (value.empty()) return Error{"the answer is empty"};
  text::Diagnostics diagnostics;
  const bool is_sound = find_invalid_utf8(value) == std::string_view::npos;
  std::vector<text::Document> documents = is_sound ? text::parse_json(value, "answer", diagnostics)
                                                   : text::parse_json(valid_utf8(value), "answer", diagnostics);
  if (documents.empty()) return Error{"the answer is no JSON: " + diagnostics.all().front().message};
  return std::move(documents.front());
}

const text::Value* member(const text::Value& mapping, std::string_view name) {
  const text::Value* found = nullptr;
  for (const text::Member& candidate : mapping.members())
    if (same_name(candidate.key, name) && !candidate.value.is_null()) found = &candidate.value;
  return found;
}

Status read(const text::Value* value, std::string_view where, std::string& out) {
  if (value == nullptr || value->is_null()) return Unit{};
  if (!value->is_string()) return wrong(where, "a string");
  out = value->text();
  return Unit{};
}

Status read(const text::Value* value, std::string_view where, std::int64_t& out) {
  if (value == nullptr || value->is_null()) return Unit{};
  const std::string_view text = value->text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (!value->is_number() || error != std::errc() || end != text.data() + text.size())
    return wrong(where, "an integer");
  return Unit{};
}

Status read_list(const text::Value* value, std::string_view where,
                 const std::function<Status(const text::Value& element)>& element) {
  if (value == nullptr || value->is_null()) return Unit{};
  if (!value->is_sequence()) return wrong(where, "a list");
  for (const text::Value& one : value->elements())
    if (Status done = element(one); !done.ok()) return done;
  return Unit{};
}

Status read_mapping(const text::Value* value, std::string_view where,
                    const std::function<Status(std::string_view key, const text::Value& value)>& entry) {
  if (value == nullptr || value->is_null()) return Unit{};
  if (!value->is_mapping()) return wrong(where, "an object");
  for (const text::Member& one : value->members())
    if (Status done = entry(one.key, one.value); !done.ok()) return done;
  return Unit{};
}

}  // namespace berth::extender
