// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Flags as Go's flag library reads them, where CLI11 would read something else. What they fill outlives the parse; the help
/// has them in the group of the command's option_defaults().
/// Source: spf13/pflag.
namespace berth::app {

/// true, 1, t, T, TRUE, True or their opposites; nothing for anything else.
std::optional<bool> read_bool(std::string_view text);

/// Comma separated, repeatable; nothing between two commas is nothing. What `out` holds is the default.
void add_list(CLI::App& command, const char* name, std::vector<std::string>& out, const char* help);

/// Text that may be given as empty, which is not the same as not at all.
void add_text(CLI::App& command, const char* name, std::optional<std::string>& out, const char* help,
              const char* default_text = "");

/// A Go duration, kept as text; what is wrong with it is for its reader to say. `default_text` is what help and
/// shown_value() tell when it is not given: "15s".
void add_duration(CLI::App& command, const char* name, std::optional<std::string>& out, const char* help,
                  const char* default_text);

/// On by its name alone, or by what read_bool() takes; of several, the last counts.
void add_switch(CLI::App& command, const std::string& name, std::function<void(bool is_on)> take, const char* help,
                bool is_on_by_default = false);

/// Repeatable, or separated by `between`; an option of several values. Shown as a list.
CLI::Option* take_all(CLI::Option* option, char between);

/// The value of an option as Go's flag library shows it, given or by default: lists in brackets, switches as true or
/// false, durations in their shortest form.
std::string shown_value(const CLI::Option& option);

/// A validator of CLI11: refuses the empty text, which CLI11 takes for 0.
std::string is_no_number(const std::string& text);

}  // namespace berth::app
