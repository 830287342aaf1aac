// SPDX-License-Identifier: Apache-2.0
#include "app/cli/record_flags.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace berth::app {
namespace {

constexpr const char* k_exit_codes =
    "Exit status: 0 done, also where a part could not be read, which is said; 1 it is no recording, or nothing could "
    "be written; 2 wrong usage.";

}  // namespace

void add_record_commands(CLI::App& program, const RecordCommands& commands, int& status) {
  auto* const record = program.add_subcommand("record", "Inspect recordings of decisions")->require_subcommand(1);
  record->footer(k_exit_codes);
  const auto options = std::make_shared<RecordOptions>();
  const auto add = [&](const char* name, const char* help, const auto& run) {
    auto* const command = record->add_subcommand(name, help);
    command->add_option("FILE", options->path, "A recording: one file of it, or the directory with all of them")
        ->required();
    command->footer(k_exit_codes);
    command->callback([options, run, &status] { status = run(*options); });
    return command;
  };
  const auto add_times = [&](CLI::App* command) {
    command->add_option("--from", options->from, "Leave out what was before, as 2026-01-31T08:30:00Z")
        ->type_name("TIME");
    command->add_option("--to", options->to, "Leave out what was after")->type_name("TIME");
  };
  add("info", "Say what a recording spans", commands.info)->add_flag("--json", options->json, "One JSON object");
  auto* const cut = add("cut", "Write the records of some time to a file of their own", commands.cut);
  add_times(cut);
  cut->add_option("-o,--output", options->output, "The file to write")->type_name("FILE")->required();
  auto* const lines = add("export", "Print records as JSON, a line each", commands.print);
  add_times(lines);
  lines->add_option("--kinds", options->kinds, "Of these kinds alone, as attempt,write")->type_name("KINDS");
}

void add_replay_command(CLI::App& program, const std::function<int(const ReplayOptions& options)>& run, int& status) {
  auto* const replay = program.add_subcommand("replay", "Decide a recording again");
  const auto options = std::make_shared<ReplayOptions>();
  replay->add_option("FILE", options->path, "A recording: one file of it, or the directory with all of them")
      ->required();
  replay->add_option(
      "--config", options->config,
      "Another configuration than the recording's (\"\": the defaults): shows what it would have come to");
  replay->add_option("--plugin-dir", options->plugin_dir,
                     "Directory of plugin files; the recording does not say where they are");
  replay->add_option("-o,--output", options->output, "table or json")->check(CLI::IsMember({"table", "json"}));
  replay->footer(
      "Exit status: 0 every decision that could be made again came out as it was recorded, or --config was given; 1 "
      "some did not, none could be made again, the recording cannot be read, or memory ends; 2 wrong usage.");
  replay->callback([options, run, &status] { status = run(*options); });
}

}  // namespace berth::app
