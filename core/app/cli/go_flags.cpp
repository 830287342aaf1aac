// SPDX-License-Identifier: Apache-2.0
#include "app/cli/go_flags.hpp"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>

namespace berth::app {

std::optional<bool> read_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "t", "T", "TRUE", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "0", "f", "F", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

void add_list(CLI::App& command, const char* name, std::vector<std::string>& out, const char* help, const char* group) {
  const auto take = [&out](const std::vector<std::string>& given) {
    out.clear();
    for (const std::string& item : given)
      if (!item.empty()) out.push_back(item);
  };
  command.add_option_function<std::vector<std::string>>(name, take, help)
      ->default_str(out.empty() ? "" : fmt::format("[{}]", fmt::join(out, ",")))
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
}

void add_text(CLI::App& command, const char* name, std::optional<std::string>& out, const char* help,
              const char* group) {
  const auto take = [&out](const std::string& given) { out = given; };
  command.add_option_function<std::string>(name, take, help)->group(group);
}

void add_switch(CLI::App& command, const std::string& name, std::function<void(bool is_on)> take, const char* help,
                const char* group) {
  const auto judge = [](const std::string& text) {
    return read_bool(text) ? std::string() : fmt::format("{} is neither true nor false", text);
  };
  command
      .add_flag_function(
          name, [take = std::move(take)](std::int64_t sum) { take(sum > 0); }, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(judge)
      ->group(group);
}

std::string is_no_number(const std::string& text) { return text.empty() ? "\"\" is no number" : ""; }

}  // namespace berth::app
