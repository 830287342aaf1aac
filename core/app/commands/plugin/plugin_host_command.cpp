// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plugin/plugin_host_command.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "isolation/process/plugin_process.hpp"
#include "isolation/process/starter.hpp"

namespace berth::app {

void add_plugin_host_command(CLI::App& cli, char* const* argv, int& status) {
  struct Options {
    isolation::PluginProgram program;
    std::vector<std::string> companions;
    bool is_child = false;
  };
  isolation::say_that_this_program_hosts_plugins();
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      cli.add_subcommand("plugin-host", "Run by berth itself, for plugins with isolation: process");
  command->group("");
  isolation::PluginProgram& program = options->program;
  command->add_option("--plugin-dir", program.directory, "Directory of plugin files")->required();
  command->add_option("--file", program.file, "The file, inside it")->required();
  command->add_option("--sha256", program.sha256, "Its digest")->required();
  command->add_option("--plugin", program.plugins, "A plugin that it offers")->required()->take_all();
  command->add_option("--companion", options->companions, "FILE=SHA256, of what it needs")->take_all();
  command->add_flag("--allow-draft-interfaces", program.allow_draft_interfaces, "As in the configuration");
  command->add_flag("--child", options->is_child, "Be the process of a plugin, and not the one that starts them");
  command->callback([options, argv, &status] {
    for (const std::string& companion : options->companions) {
      const std::size_t end = companion.rfind('=');
      if (end != std::string::npos)
        options->program.companions.emplace_back(companion.substr(0, end), companion.substr(end + 1));
    }
    status = options->is_child ? isolation::run_plugin_process(options->program) : isolation::run_starter(argv);
  });
}

}  // namespace berth::app
