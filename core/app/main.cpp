// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "app/cli/arguments.hpp"
#include "app/cli/look_flags.hpp"
#include "app/cli/record_flags.hpp"
#include "app/cli/simulate_flags.hpp"
#include "app/commands/auth_command.hpp"
#include "app/commands/config_command.hpp"
#include "app/commands/explain_command.hpp"
#include "app/commands/plugin/bench_command.hpp"
#include "app/commands/plugin/new_plugin_command.hpp"
#include "app/commands/plugin/plugin_command.hpp"
#include "app/commands/plugin/plugin_host_command.hpp"
#include "app/commands/plugin/verify_command.hpp"
#include "app/commands/record_command.hpp"
#include "app/commands/replay_command.hpp"
#include "app/commands/run_command.hpp"
#include "app/commands/simulate_command.hpp"
#include "app/commands/supervised.hpp"
#include "app/commands/ui_command.hpp"
#include "app/plugins/plugin_library.hpp"
#include "app/simulate/single_pass.hpp"
#include "base/product.hpp"
#include "berth/abi/version.h"
#include "config/resolve.hpp"
#include "observe/exit_report.hpp"
#include "observe/fatal_signal.hpp"
#include "observe/heap.hpp"

namespace {

using namespace berth;

app::PluginAccess plugin_access(const std::string& plugin_dir) {
  const auto library = std::make_shared<app::PluginLibrary>();  // of the file that is being checked
  app::PluginAccess access;
  access.load = [plugin_dir, library](const config::RawConfiguration& raw) -> Result<config::PluginCatalog> {
    *library = app::load_plugins(raw, plugin_dir);
    if (!library->ok()) return Error{library->report.render()};
    return library->catalog();
  };
  access.try_out = [library](const config::Configuration& configuration) {
    SymbolTable symbols;
    const auto made = app::SinglePass::make(symbols, configuration, *library);
    return made.ok() ? text::Diagnostics() : made.error();
  };
  return access;
}

/// A command whose exit status is its answer.
template <typename Options>
auto in_child(int (*run)(const Options& options, std::ostream& out, std::ostream& err)) {
  return [run](const Options& options) { return app::supervised([&] { return run(options, std::cout, std::cerr); }); };
}

void add_tested_file(CLI::App& command, app::TestedFileOptions& options) {
  options.product = product();
  options.host_services = app::host_offer().services;
  command.add_option("FILE", options.file, "Plugin file")->required();
  command.add_option("--config", options.config,
                     "A configuration with the plugins; without it they join the default profile");
  command.add_option("--plugin-dir", options.plugin_dir, "Directory of berth's own plugin files");
  command.add_flag("--json", options.json, "One JSON object");
}

constexpr const char* k_exit_codes =
    "Exit status: 0 done; 1 bad input (configuration, plugin files, manifests); all errors are reported at once;\n"
    "2 wrong usage (of run: 1, as of kube-scheduler); 3 pods stay pending (simulate --fail-on-pending).";

constexpr const char* k_config_exit_codes =
    "Exit status: 0 nothing is wrong; 1 something is wrong, or could not be read; 2 wrong usage.";
constexpr const char* k_plugin_exit_codes =
    "Exit status: 0 done, and nothing is wrong; 1 something is wrong, or could not be read or written; 2 wrong usage.";

}  // namespace

int main(int argc, char** argv) {
  observe::keep_heap_small();
  observe::install_fatal_signal_report({});
  observe::install_exit_report();
  CLI::App cli{"berth: a Kubernetes scheduler whose every policy is a plugin file", "berth"};
  cli.require_subcommand(1);
  cli.footer(k_exit_codes);
  cli.set_version_flag("--version", fmt::format("{} (plugin ABI {}.{})", product(), BERTH_ABI_MAJOR, BERTH_ABI_MINOR));
  int status = 0;

  app::SimulateOptions simulate;
  auto* simulate_cli = cli.add_subcommand("simulate", "Schedule a cluster described by manifests");
  app::add_simulate_flags(*simulate_cli, simulate);
  simulate_cli->footer(k_exit_codes);
  simulate_cli->callback([&] {
    app::take_changes(*simulate_cli, simulate);
    status = in_child(app::run_simulate)(simulate);
  });

  app::ExplainOptions explain;
  auto* explain_cli =
      cli.add_subcommand("explain", "Say why a pod is pending, or where it is, and what would make it fit");
  app::add_explain_flags(*explain_cli, explain);
  explain_cli->callback([&] { status = in_child(app::run_explain)(explain); });

  app::UiOptions ui;
  auto* ui_cli =
      cli.add_subcommand("ui", "Serve a page that shows a cluster, its pending pods and why they are pending");
  app::add_ui_flags(*ui_cli, ui);
  ui_cli->callback([&] { status = app::run_ui(ui, std::cout, std::cerr); });
  app::add_record_commands(
      cli, {in_child(app::run_record_info), in_child(app::run_record_cut), in_child(app::run_record_export)}, status);
  app::add_replay_command(cli, in_child(app::run_replay), status);

  app::RunOptions run;
  auto* run_cli = cli.add_subcommand("run", "Schedule a live cluster; takes kube-scheduler's command line");
  app::add_run_flags(*run_cli, run);
  run_cli->callback([&] {
    if (app::print_version(run, std::cout)) return;
    run.all = app::flag_values(*run_cli);
    status = app::run_live(run);
  });

  app::AuthCheckOptions auth;
  auto* auth_cli = cli.add_subcommand("auth", "Check the permissions that berth needs")->require_subcommand(1);
  auto* auth_check_cli = auth_cli->add_subcommand("check", "List the RBAC rules that berth and its plugins lack");
  auth_check_cli->add_option("--config", auth.config, "KubeSchedulerConfiguration and BerthConfiguration");
  auth_check_cli->add_option("--kubeconfig", auth.kubeconfig,
                             "How to reach the API server, and as whom; else the configuration's, else in-cluster");
  auth_check_cli->add_option("--master", auth.master, "URL of the API server, instead of the kubeconfig's");
  auth_check_cli->add_option("--plugin-dir", auth.plugin_dir, "Directory of plugin files");
  auth_check_cli->footer("Exit status: 0 nothing is missing; 1 something is, or it could not be asked; 2 wrong usage.");
  auth_check_cli->callback([&] { status = in_child(app::run_auth_check)(auth); });

  std::vector<std::string> config_files;
  std::string config_plugin_dir;
  auto* config_cli =
      cli.add_subcommand("config", "Check and convert configurations, print defaults")->require_subcommand(1);
  config_cli->footer(k_config_exit_codes);
  auto* check_cli = config_cli->add_subcommand("check", "Report everything that is wrong with configuration files");
  check_cli->add_option("FILE", config_files, "Configuration files")->required();
  check_cli->add_option("--plugin-dir", config_plugin_dir, "Directory of plugin files");
  check_cli->callback([&] {
    status = app::supervised(
        [&] { return app::run_config_check(config_files, plugin_access(config_plugin_dir), std::cout, std::cerr); });
  });
  std::string convert_file;
  bool convert_modern = false;
  auto* convert_cli = config_cli->add_subcommand(
      "convert", "Print what a configuration or Policy of an older kube-scheduler means today");
  convert_cli->add_option("FILE", convert_file, "Configuration or Policy file")->required();
  convert_cli->add_flag("--modern", convert_modern, "Use the policies of today, and say what changes");
  convert_cli->callback([&] { status = app::run_config_convert(convert_file, convert_modern, std::cout, std::cerr); });
  auto* defaults_cli = config_cli->add_subcommand("defaults", "Print the configuration that an empty one stands for");
  defaults_cli->add_option("--plugin-dir", config_plugin_dir, "Directory of plugin files");
  defaults_cli->callback([&] {
    status = app::supervised(
        [&] { return app::run_config_defaults(plugin_access(config_plugin_dir), std::cout, std::cerr); });
  });

  app::PluginInspectOptions inspect;
  inspect.product = product();
  inspect.host_services = app::host_offer().services;
  auto* plugin_cli = cli.add_subcommand("plugin", "Make, inspect and verify plugins")->require_subcommand(1);
  plugin_cli->footer(k_plugin_exit_codes);
  auto* inspect_cli = plugin_cli->add_subcommand("inspect", "Say what files offer, without running their code");
  inspect_cli->add_option("FILE", inspect.files, "Plugin files")->required();
  inspect_cli->add_flag("--json", inspect.json, "One JSON array");
  inspect_cli->add_flag("--rbac", inspect.rbac, "Print the ClusterRole the plugins need");
  inspect_cli->callback([&] { status = app::inspect_plugins(inspect, std::cout, std::cerr); });
  app::PluginNewOptions new_plugin;
  auto* new_cli = plugin_cli->add_subcommand(
      "new", "Write the project of a new plugin: it builds, passes its test and decides something");
  new_cli->add_option("NAME", new_plugin.name, "Such as example.com/PreferRack; the folder is prefer_rack")->required();
  new_cli->add_option("--language", new_plugin.language, "c++, c or rust")
      ->check(CLI::IsMember({"c++", "c", "rust", "zig"}))
      ->capture_default_str();
  new_cli
      ->add_option(
          "--points", new_plugin.points,
          "Extension points, with commas between them: filter, score, pre_enqueue, post_filter, reserve, permit, "
          "pre_bind, post_bind (in C filter and score)")
      ->delimiter(',')
      ->capture_default_str();
  new_cli->add_option("--directory", new_plugin.directory, "Where the folder is made; the current directory");
  new_cli->callback([&] { status = app::new_plugin(new_plugin, std::cout, std::cerr); });
  app::PluginVerifyOptions verify;
  auto* verify_cli = plugin_cli->add_subcommand(
      "verify", "Run the plugins of a file against the contract, each check in a process of its own");
  add_tested_file(*verify_cli, verify);
  verify_cli->add_option("--checks", verify.checks, "Only these, with commas between them: V04,V07")->delimiter(',');
  verify_cli->add_option("--time-limit-seconds", verify.limit_seconds, "Seconds that each part of a check may take")
      ->check(CLI::Range(1u, 3'600u))
      ->capture_default_str();
  verify_cli->callback([&] { status = app::verify_plugin(verify, std::cout, std::cerr); });
  app::PluginBenchOptions bench;
  auto* bench_cli =
      plugin_cli->add_subcommand("bench", "Say what the plugins of a file cost for each decision and node");
  add_tested_file(*bench_cli, bench);
  bench_cli->add_option("--nodes", bench.nodes, "Number of nodes in the simulated cluster")
      ->check(CLI::Range(1u, 200'000u))
      ->capture_default_str();
  bench_cli->add_option("--rounds", bench.rounds, "Number of rounds; the median is printed")
      ->check(CLI::Range(1u, 1'000u))
      ->capture_default_str();
  bench_cli->callback([&] { status = app::bench_plugin(bench, std::cout, std::cerr); });

  app::add_plugin_host_command(cli, argv, status);

  std::vector<std::string> words = app::arguments(argc, argv, cli);
  const bool is_run = !words.empty() && words.back() == "run";
  try {
    cli.parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    if (cli.exit(e) == 0) return 0;
    return is_run ? 1 : 2;  // of `run` as of kube-scheduler
  }
  return status;
}
