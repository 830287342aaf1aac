// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace berth::isolation {

/// What a process of an isolated plugin loads: the arguments of `berth plugin-host`.
struct PluginProgram {
  std::string directory;             // of plugins
  std::string file;                  // inside it
  std::string sha256;                // of the file that the host has judged: no other is loaded
  std::vector<std::string> plugins;  // names that it offers
  std::vector<std::pair<std::string, std::string>> companions = {};  // files that it needs, with their digests, or none
  bool allow_draft_interfaces = false;
};

/// Said by a program that has the command `berth plugin-host`: others would start themselves, with words that they do not know.
void say_that_this_program_hosts_plugins() noexcept;
bool this_program_hosts_plugins() noexcept;

/// The command line of `berth plugin-host` for it.
std::vector<std::string> arguments_of(const PluginProgram& program);

}  // namespace berth::isolation
