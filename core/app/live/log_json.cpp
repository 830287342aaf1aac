// SPDX-License-Identifier: Apache-2.0
#include "app/live/log_json.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <iterator>

#include "base/utf8.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::string_view k_levels[] = {"info", "warning", "error"};  // by Severity

void append_string(std::string& out, std::string_view text) { text::append_json_string(out, valid_utf8(text)); }

struct AppendValue {
  std::string& out;
  void operator()(std::string_view text) const { append_string(out, text); }
  void operator()(std::int64_t number) const { fmt::format_to(std::back_inserter(out), "{}", number); }
  void operator()(double number) const {
    const std::string text = fmt::format("{}", number);
    if (!std::isfinite(number)) return append_string(out, text);  // JSON has no such number
    out += text;
  }
  void operator()(bool yes) const { out += yes ? "true" : "false"; }
  void operator()(observe::ObjectName object) const {
    out += R"({"name":)";
    append_string(out, object.name);
    if (!object.ns.empty()) {
      out += R"(,"namespace":)";
      append_string(out, object.ns);
    }
    out += '}';
  }
};

}  // namespace

void log_as_json(const observe::LogLine& line, std::string& out) {
  fmt::format_to(std::back_inserter(out), R"({{"ts":{}.{:03},"caller":"{}:{}","level":"{}","msg":)",
                 line.wall_us / 1000, line.wall_us % 1000, line.site.file_in_folder(), line.site.line,
                 k_levels[static_cast<std::size_t>(line.severity)]);
  append_string(out, line.message);
  if (line.severity != observe::Severity::error) fmt::format_to(std::back_inserter(out), R"(,"v":{})", line.verbosity);
  for (const observe::LogField& field : line.fields) {
    out += ',';
    append_string(out, field.key);
    out += ':';
    std::visit(AppendValue{out}, field.value);
  }
  out += '}';
}

}  // namespace berth::app
