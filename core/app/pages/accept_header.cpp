// SPDX-License-Identifier: Apache-2.0
#include "app/pages/accept_header.hpp"

#include <algorithm>
#include <charconv>

namespace berth::app {
namespace {

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Cuts `text` before the next separator; `text` becomes what follows it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// False: it is no media type.
bool read_type(std::string_view text, MediaRange& out) {
  out.type = trim(cut(text, '/'));
  out.subtype = trim(text);
  if (out.subtype.empty() && out.type == "*") out.subtype = "*";
  return !out.subtype.empty() && out.subtype.find('/') == std::string_view::npos;
}

void read_parameters(std::string_view text, MediaRange& out) {
  while (!text.empty()) {
    std::string_view value = cut(text, ';');
    const std::string_view name = trim(cut(value, '='));
    value = trim(value);
    if (value.empty() || value.find('=') != std::string_view::npos) continue;
    if (name != "q") {
      out.parameters.emplace_back(name, value);
      continue;
    }
    double quality = 0;
    std::from_chars(value.data(), value.data() + value.size(), quality);
    out.quality = quality >= 0 && quality <= 1 ? quality : 0;  // neither infinite nor no number
  }
}

}  // namespace

std::string_view MediaRange::parameter(std::string_view name) const noexcept {
  const auto found =
      std::find_if(parameters.rbegin(), parameters.rend(), [&](const auto& p) { return p.first == name; });
  return found == parameters.rend() ? std::string_view() : found->second;
}

std::vector<MediaRange> parse_accept(std::string_view header) {
  std::vector<MediaRange> out;
  while (!header.empty()) {
    std::string_view clause = trim(cut(header, ','));
    MediaRange range;
    if (!read_type(cut(clause, ';'), range)) continue;
    read_parameters(clause, range);
    out.push_back(std::move(range));
  }
  const auto stars = [](const MediaRange& range) {
    return (range.type == "*" ? 2 : 0) + (range.subtype == "*" ? 1 : 0);
  };
  std::stable_sort(out.begin(), out.end(), [&](const MediaRange& a, const MediaRange& b) {
    return a.quality != b.quality ? a.quality > b.quality : stars(a) < stars(b);
  });
  return out;
}

}  // namespace berth::app
