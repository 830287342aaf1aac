// SPDX-License-Identifier: Apache-2.0
#include "text/diagnostics.hpp"

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

std::string Diagnostics::render() const {
  std::string out;
  for (const Diagnostic& diagnostic : all_) {
    if (!diagnostic.file.empty()) {
      out += diagnostic.file;
      if (diagnostic.position.line != 0)
        fmt::format_to(std::back_inserter(out), ":{}:{}", diagnostic.position.line, diagnostic.position.column);
      out += ": ";
    }
    if (!diagnostic.path.empty()) {
      out += diagnostic.path;
      out += ": ";
    }
    out += diagnostic.message;
    if (!diagnostic.advice.empty()) {
      out += " (";
      out += diagnostic.advice;
      out += ')';
    }
    out += '\n';
  }
  return shown(out);
}

}  // namespace berth::text
