// SPDX-License-Identifier: Apache-2.0
#include "app/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace berth::app {
namespace {

/// The command that the first words name.
const CLI::App& named_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (const std::string& word : words) {
    const auto found = command->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (found.empty()) break;
    command = found.front();
  }
  return *command;
}

/// A flag as CLI11 knows it: with hyphens, and -v=4 as -v4, since it would read the value "=4".
void as_upstream_writes(std::string& word) {
  if (word.starts_with("--"))
    std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size())), '_',
                 '-');
  else if (word.size() > 3 && word[0] == '-' && word[2] == '=')
    word.erase(2, 1);
}

/// No value, or a list of nothing.
bool is_nothing(const CLI::Option& option, std::string_view value) {
  const char delimiter = option.get_delimiter();
  return value.empty() || (delimiter != '\0' && value.find_first_not_of(delimiter) == std::string_view::npos);
}

}  // namespace

std::vector<std::string> arguments(int argc, const char* const* argv, const CLI::App& program) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc), out;
  const std::string name = argc > 0 ? argv[0] : "";
  if (name.substr(name.rfind('/') + 1) == "kube-scheduler") words.insert(words.begin(), "run");
  const bool is_run = !words.empty() && words.front() == "run";
  const CLI::App& command = named_command(program, words);
  for (std::string& word : words) {
    if (is_run) as_upstream_writes(word);
    const std::size_t equals = word.starts_with('-') ? word.find('=') : std::string::npos;
    const CLI::Option* const option =
        equals == std::string::npos ? nullptr : command.get_option_no_throw(word.substr(0, equals));
    if (option == nullptr || !is_nothing(*option, std::string_view(word).substr(equals + 1))) {
      out.push_back(std::move(word));
      continue;
    }
    word.resize(equals);
    if (option->get_items_expected_max() == 0) {
      out.push_back(word + "=\"\"");  // a switch, which CLI11 would take for turned on
    } else {
      out.push_back(std::move(word));
      out.emplace_back();
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace berth::app
