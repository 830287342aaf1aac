// SPDX-License-Identifier: Apache-2.0
#include "config/read/yaml_writer.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/utf8.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

/// Words, numbers and marks that a YAML reader of some version takes for something other than a string.
bool is_plain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || text.back() == ':') return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0 && text.front() != '/') return false;
  const auto harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./ :").find(c) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), harmless) || text.find(": ") != std::string_view::npos) return false;
  const std::string lower = lower_case(text);
  constexpr std::array<std::string_view, 11> k_words = {"true", "false", "yes", "no",  "on", "off",
                                                        "null", "y",     "n",   "inf", "nan"};
  return std::find(k_words.begin(), k_words.end(), lower) == k_words.end();
}

bool is_yaml_block(const text::Value& value) { return !value.members().empty() || !value.elements().empty(); }

std::string yaml_scalar_of(const text::Value& value) {
  return value.is_string() ? yaml_string(value.text()) : text::to_json(value);
}

}  // namespace

std::string yaml_string(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  text::append_json_string(out, text);
  return out;
}

void append_yaml(std::string& out, const text::Value& value, std::size_t indent) {
  const std::string pad(indent, ' ');
  if (!is_yaml_block(value)) {
    out += pad + yaml_scalar_of(value) + '\n';
    return;
  }
  for (const text::Member& member : value.members()) {
    out += pad + yaml_string(member.key) + ':';
    if (!is_yaml_block(member.value)) {
      out += ' ' + yaml_scalar_of(member.value) + '\n';
    } else {
      out += '\n';
      append_yaml(out, member.value, indent + 2);
    }
  }
  for (const text::Value& element : value.elements()) {
    // The dash takes the place of the first line's indentation.
    std::string block;
    append_yaml(block, element, indent + 2);
    block[indent] = '-';
    out += block;
  }
}

}  // namespace berth::config
