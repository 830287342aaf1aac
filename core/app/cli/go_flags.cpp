// SPDX-License-Identifier: Apache-2.0
#include "app/cli/go_flags.hpp"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config/read/names.hpp"

namespace berth::app {
namespace {

// pflag's names of types, by which shown_value() tells how a value is written.
constexpr const char *k_list = "strings", *k_duration = "duration";

}  // namespace

std::optional<bool> read_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "t", "T", "TRUE", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "0", "f", "F", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

CLI::Option* take_all(CLI::Option* option, char between) {
  return option->default_str("[]")
      ->delimiter(between)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_list(CLI::App& command, const char* name, std::vector<std::string>& out, const char* help) {
  const auto take = [&out](const std::vector<std::string>& given) {
    out.clear();
    for (const std::string& item : given)
      if (!item.empty()) out.push_back(item);
  };
  take_all(command.add_option_function<std::vector<std::string>>(name, take, help), ',')
      ->default_str(fmt::format("[{}]", fmt::join(out, ",")))
      ->type_name(k_list);
}

void add_text(CLI::App& command, const char* name, std::optional<std::string>& out, const char* help,
              const char* default_text) {
  const auto take = [&out](const std::string& given) { out = given; };
  command.add_option_function<std::string>(name, take, help)->default_str(default_text);
}

void add_duration(CLI::App& command, const char* name, std::optional<std::string>& out, const char* help,
                  const char* default_text) {
  add_text(command, name, out, help, default_text);
  command.get_option(name)->type_name(k_duration);
}

void add_switch(CLI::App& command, const std::string& name, std::function<void(bool is_on)> take, const char* help,
                bool is_on_by_default) {
  const auto judge = [](const std::string& text) {
    return read_bool(text) ? std::string() : fmt::format("{} is neither true nor false", text);
  };
  command
      .add_flag_function(
          name, [take = std::move(take)](std::int64_t sum) { take(sum > 0); }, help)
      ->default_str(is_on_by_default ? "true" : "false")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(judge);
}

std::string shown_value(const CLI::Option& option) {
  const bool is_switch = option.get_items_expected_min() == 0;
  if (option.count() == 0) return is_switch && option.get_default_str().empty() ? "false" : option.get_default_str();
  const std::vector<std::string> given = option.reduced_results();
  const bool is_list = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (is_list) {
    const char between = option.get_delimiter() == ';' ? ';' : ',';
    return fmt::format("[{}]", fmt::join(given, std::string_view(&between, 1)));
  }
  const std::string value = given.empty() ? std::string() : given.back();
  if (is_switch)
    if (const std::optional<bool> is_on = read_bool(value)) return *is_on ? "true" : "false";
  if (option.get_type_name() == k_duration)
    if (const auto ns = config::parse_duration_ns(value)) return config::format_duration(*ns);
  return value;
}

std::string is_no_number(const std::string& text) { return text.empty() ? "\"\" is no number" : ""; }

}  // namespace berth::app
