// SPDX-License-Identifier: Apache-2.0
#include "text/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstddef>
#include <iterator>

namespace berth::text {
namespace {

constexpr std::size_t k_shown_max = 100, k_shown_bytes_max = 64 * 1024;

/// Cut in front of a character, at `bytes` at most.
void cut(std::string& text, std::size_t bytes) {
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  text.resize(bytes);
}

/// What a terminal would obey instead of showing it becomes visible; lines stay lines.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (const auto code = static_cast<unsigned char>(c); (code < 0x20 && c != '\n' && c != '\t') || code == 0x7f)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", code);
    else
      out += c;
  return out;
}

}  // namespace

std::string Problems::render() const {
  std::string out;
  std::size_t shown_count = 0;
  for (const Problem& problem : all_) {
    if (shown_count == k_shown_max || out.size() > k_shown_bytes_max) break;
    ++shown_count;
    if (!problem.file.empty()) {
      out += problem.file;
      if (problem.position.line != 0)
        fmt::format_to(std::back_inserter(out), ":{}:{}", problem.position.line, problem.position.column);
      out += ": ";
    }
    if (!problem.path.empty()) {
      out += problem.path;
      out += ": ";
    }
    out += problem.message;
    if (!problem.advice.empty()) {
      out += " (";
      out += problem.advice;
      out += ')';
    }
    out += '\n';
  }
  if (out.size() > k_shown_bytes_max) {
    cut(out, k_shown_bytes_max);
    out += "…\n";
  }
  if (shown_count < all_.size()) fmt::format_to(std::back_inserter(out), "and {} more\n", all_.size() - shown_count);
  return shown(out);
}

}  // namespace berth::text
