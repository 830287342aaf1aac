// SPDX-License-Identifier: Apache-2.0
#include "text/parse.hpp"

#include <spdlog/fmt/fmt.h>

#include <iterator>
#include <optional>
#include <unordered_map>

#include "base/utf8.hpp"
#include "text/builder.hpp"
#include "text/last_of_name.hpp"

namespace berth::text {
namespace {

std::string_view after_byte_order_mark(std::string_view text) {
  return text.substr(0, 3) == "\xef\xbb\xbf" ? text.substr(3) : text;
}

/// The way to a value; written out only when there is something to report.
struct Way {
  const Way* parent = nullptr;
  std::optional<std::string_view> key;  // none: an element
  std::size_t index = 0;

  std::string text() const {
    if (parent == nullptr) return {};
    std::string path = parent->text();
    if (!key) return path + "[" + std::to_string(index) + "]";
    if (!path.empty()) path += '.';
    return path.append(*key);
  }
};

/// Reports the members whose name stood before; few members are compared, many are indexed.
template <typename Report>
void each_repetition(std::span<const Member> members, Report&& report) {
  constexpr std::size_t k_few = 16;
  if (members.size() > k_few) {
    std::unordered_map<std::string_view, const Member*> seen;
    for (const Member& member : members)
      if (const auto [first, fresh] = seen.emplace(member.key, &member); !fresh) report(*first->second, member);
    return;
  }
  for (std::size_t i = 1; i < members.size(); ++i)
    for (std::size_t first = 0; first < i; ++first)
      if (members[first].key == members[i].key) {
        report(members[first], members[i]);
        break;
      }
}

void find_duplicates(const Document& document, const Value& value, const Way& way, Diagnostics& diagnostics) {
  std::size_t index = 0;
  for (const Value& element : value.elements())
    find_duplicates(document, element, {&way, std::nullopt, index++}, diagnostics);
  const auto members = value.members();
  each_repetition(members, [&](const Member& first, const Member& member) {
    diagnostics.add(document.file(), member.key_position, Way{&way, member.key, 0}.text(),
                    fmt::format("key \"{}\" stands here a second time", member.key),
                    fmt::format("the first is at {}:{}", first.key_position.line, first.key_position.column));
  });
  for (const Member& member : members)
    if (member.value.is_mapping() || member.value.is_sequence())
      find_duplicates(document, member.value, {&way, member.key, 0}, diagnostics);
}

void append_json(std::string& out, const Value& value) {
  if ((value.is_mapping() || value.is_sequence()) && !value.text().empty()) {
    out += value.text();
    return;
  }
  switch (value.kind()) {
    case Kind::null:
      out += "null";
      return;
    case Kind::boolean:
      out += value.text();
      return;
    case Kind::number:
      out += value.text();
      return;  // both parsers keep numbers as JSON writes them
    case Kind::string:
      append_json_string(out, value.text());
      return;
    case Kind::sequence: {
      char separator = '[';
      for (const Value& element : value.elements()) {
        out += separator;
        append_json(out, element);
        separator = ',';
      }
      out += separator == '[' ? "[]" : "]";
      return;
    }
    case Kind::mapping:
      break;
  }
  char separator = '{';
  const LastOfName last(value);
  for (const Member& member : value.members()) {
    if (!last.is(member)) continue;
    out += separator;
    append_json_string(out, member.key);
    out += ':';
    append_json(out, member.value);
    separator = ',';
  }
  out += separator == '{' ? "{}" : "}";
}

}  // namespace

std::vector<Document> parse(std::string_view text, std::string file, Diagnostics& diagnostics) {
  text = after_byte_order_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '['))
    return parse_yaml(text, std::move(file), diagnostics);
  Diagnostics json_diagnostics;
  auto documents = parse_json(text, file, json_diagnostics);
  if (json_diagnostics.empty()) return documents;
  // "{a: b}" is YAML. A text that is neither is reported as what it most likely wants to be: JSON.
  constexpr std::size_t k_largest_second_look_bytes = 1 << 20;
  if (text.size() <= k_largest_second_look_bytes) {
    Diagnostics yaml_diagnostics;
    documents = parse_yaml(text, std::move(file), yaml_diagnostics);
    if (yaml_diagnostics.empty()) return documents;
  }
  diagnostics.add(json_diagnostics);
  return {};
}

void report_duplicates(const Document& document, const Value& value, Diagnostics& diagnostics) {
  find_duplicates(document, value, Way{}, diagnostics);
}

std::string to_json(const Value& value) {
  std::string out;
  append_json(out, value);
  return out;
}

std::string merge_json(const Value* target, const Value& patch) {
  if (!patch.is_mapping()) return to_json(patch);
  std::string out = "{";
  const auto append = [&](std::string_view key, const std::string& json) {
    if (out.size() > 1) out += ',';
    append_json_string(out, key);
    out.append(":").append(json);
  };
  const LastOfName changes(patch);
  const Value nothing;
  const LastOfName known(target == nullptr ? nothing : *target);
  if (target != nullptr) {
    for (const Member& member : target->members()) {
      if (!known.is(member)) continue;
      const Value* change = changes.find(member.key);
      if (change == nullptr) append(member.key, to_json(member.value));
      if (change != nullptr && !change->is_null()) append(member.key, merge_json(&member.value, *change));
    }
  }
  for (const Member& member : patch.members())
    if (changes.is(member) && known.find(member.key) == nullptr && !member.value.is_null())
      append(member.key, merge_json(nullptr, member.value));
  return out + "}";
}

void append_json_string(std::string& out, std::string_view text) {
  if (find_invalid_utf8(text) != std::string_view::npos) {
    append_json_string(out, valid_utf8(text));
    return;
  }
  out += '"';
  std::size_t plain = 0;  // start of what was not yet copied
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // DEL may stand in JSON as it is, but not in YAML, which also reads what is written here.
    const std::size_t control_bytes = byte < 0x80 ? 0 : display_control_length(text.substr(i));
    if (control_bytes == 0 && byte >= 0x20 && byte != 0x7f && byte != '"' && byte != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    if (control_bytes != 0) {
      // Those change what a terminal shows of the rest.
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", display_control_code(text.substr(i), control_bytes));
      i += control_bytes - 1;
      plain = i + 1;
      continue;
    }
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    }
  }
  out.append(text, plain, text.size() - plain);
  out += '"';
}

}  // namespace berth::text
