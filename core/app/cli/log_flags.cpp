// SPDX-License-Identifier: Apache-2.0
#include "app/cli/log_flags.hpp"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "app/cli/go_flags.hpp"
#include "app/cli/run_options.hpp"

namespace berth::app {

Result<std::vector<observe::LogModule>> read_log_modules(std::string_view text) {
  std::vector<observe::LogModule> out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const char* const end = item.data() + item.size();
    int level = -1;
    const bool has_both = equals != std::string_view::npos && equals != 0;
    if (!has_both || std::from_chars(item.data() + equals + 1, end, level).ptr != end || level < 0)
      return Error{fmt::format("\"{}\" is not of the form PATTERN=N", item)};
    if (level != 0) out.push_back({std::string(item.substr(0, equals)), level});
  }
  return out;
}

void add_log_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Log");
  command.add_option("-v,--v", options.verbosity, "Verbosity of the log: 0 to 10")->check(CLI::NonNegativeNumber);
  command.add_option_function<std::string>(
      "--vmodule",
      [&options](const std::string& text) {
        Result<std::vector<observe::LogModule>> read = read_log_modules(text);
        if (!read.ok()) throw CLI::ValidationError("--vmodule", read.error().message);
        options.log_modules.insert(options.log_modules.end(), read->begin(), read->end());
      },
      "PATTERN=N,...: the verbosity of source files by name, as binder=4,http_*=6");
  command.add_option("--logging-format", options.logging_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  add_duration(command, "--log-flush-frequency", options.log_flush_frequency,
               "Without effect, since every line is written at once", "5s");
}

}  // namespace berth::app
