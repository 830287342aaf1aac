// SPDX-License-Identifier: Apache-2.0
// Lines as klog writes them.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <iterator>

#include "base/utf8.hpp"
#include "observe/log.hpp"

namespace berth::observe {
namespace {

constexpr char k_letters[] = {'I', 'W', 'E'};  // by Severity

void append_escaped(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += static_cast<char>(c);
      return;
    case '\a':
      out += "\\a";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\v':
      out += "\\v";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", c);
  }
}

enum class Quoting : std::uint8_t { in_quotes, bare };

/// As Go's strconv.Quote, but that it leaves every letter beyond ASCII as it is; control characters are none. Without
/// quotes around them, tabs, quotes and backslashes stand for themselves.
void append_shown(std::string& out, std::string_view text, Quoting quoting) {
  const bool bare = quoting == Quoting::bare;
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    if (c < 0x80) {
      if ((c < 0x20 && !(bare && c == '\t')) || c == 0x7F || (!bare && (c == '"' || c == '\\')))
        append_escaped(out, c);
      else
        out += static_cast<char>(c);
    } else if (length = display_control_length(text); length != 0) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", display_control_code(text, length));
    } else if (length = utf8_length(text); length != 0) {
      out += text.substr(0, length);
    } else {
      length = 1;
      append_escaped(out, c);
    }
    text.remove_prefix(length);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_shown(out, text, Quoting::in_quotes);
  out += '"';
}

void append_text(std::string& out, std::string_view text) {
  std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return append_quoted(out, text);
  out += "<\n";
  for (; !text.empty(); end = text.find('\n')) {
    out += '\t';
    append_shown(out, text.substr(0, end), Quoting::bare);
    out += '\n';
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  out += " >";
}

struct AppendValue {
  std::string& out;
  void operator()(std::string_view text) const { append_text(out, text); }
  void operator()(std::int64_t number) const { fmt::format_to(std::back_inserter(out), "{}", number); }
  void operator()(double number) const { fmt::format_to(std::back_inserter(out), "{}", number); }
  void operator()(bool yes) const { out += yes ? "true" : "false"; }
  void operator()(ObjectName object) const {
    if (object.ns.empty()) return append_quoted(out, object.name);
    append_quoted(out, std::string(object.ns).append("/").append(object.name));
  }
};

}  // namespace

void log_as_text(const LogLine& line, std::string& out) {
  const auto seconds = static_cast<std::time_t>(line.wall_us / 1'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  fmt::format_to(std::back_inserter(out), "{}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {}:{}] ",
                 k_letters[static_cast<std::size_t>(line.severity)], local.tm_mon + 1, local.tm_mday, local.tm_hour,
                 local.tm_min, local.tm_sec, line.wall_us % 1'000'000, ::getpid(), line.site.file_name(),
                 line.site.line);
  if (line.is_plain) {
    out += line.message;
    return;
  }
  append_quoted(out, line.message);
  for (const LogField& field : line.fields) {
    out += ' ';
    out += field.key;
    out += '=';
    std::visit(AppendValue{out}, field.value);
  }
}

}  // namespace berth::observe
