// SPDX-License-Identifier: Apache-2.0
#include "text/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include <iterator>

namespace berth::text {
namespace {

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
  for (const Problem& problem : all_) {
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
  return shown(out);
}

}  // namespace berth::text
