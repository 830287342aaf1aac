// SPDX-License-Identifier: Apache-2.0
#include "app/simulate_command.hpp"

#include <chrono>
#include <fstream>
#include <iostream>

#include "app/config_command.hpp"
#include "app/single_pass.hpp"
#include "config/resolve.hpp"

namespace berth::app {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<decode::FieldNeed> field_needs() {
  std::vector<decode::FieldNeed> needs;
  for (const config::AbsentPlugin& plugin : config::AbsentPlugins::embedded().all())
    for (const config::FieldNeed& need : plugin.needs) {
      decode::FieldNeed out{plugin.name, {}};
      for (const config::FieldCondition& condition : need.all_of) out.all_of.push_back({condition.path, condition.equals});
      needs.push_back(std::move(out));
    }
  return needs;
}

}  // namespace

int run_simulate(const SimulateOptions& options, std::ostream& out, std::ostream& err) {
  text::Problems problems;
  const config::RawConfiguration raw =
      options.config.empty() ? config::load_defaults() : config::load_file(options.config, problems);
  const PluginLibrary plugins = load_plugins(raw, options.plugin_dir);
  const config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  for (const std::string& warning : plugins.report.warnings()) err << "berth: warning: " << warning << '\n';
  if (!plugins.ok()) err << plugins.report.render();
  if (!problems.empty()) print_problems(err, problems);
  if (!plugins.ok() || !problems.empty()) return 1;

  SymbolTable symbols;
  std::vector<std::string> complaints;
  auto pass = SinglePass::make(symbols, configuration, plugins, complaints);
  for (const std::string& complaint : complaints) err << "berth: " << complaint << '\n';
  if (!pass) return 1;

  const auto reading = std::chrono::steady_clock::now();
  cluster::ManifestOptions manifest_options;
  manifest_options.decode.needs = field_needs();
  manifest_options.decode.watched = pass->scheduler().objects().resources();
  const cluster::Manifests manifests = cluster::read_manifests(options.cluster, symbols, manifest_options, problems);
  const double read_seconds = seconds_since(reading);
  if (!problems.empty()) {
    print_problems(err, problems);
    return 1;
  }
  for (const cluster::SkippedKind& skipped : manifests.skipped)
    err << fmt::format("berth: warning: {} objects of kind {} ({}) are not known to scheduling and were skipped\n",
                       skipped.count, skipped.kind, skipped.api_version);
  pass->load(manifests);

  const auto deciding = std::chrono::steady_clock::now();
  SinglePass::Options run_options;
  run_options.explain_all = !options.decisions.empty();
  run_options.explain_pod = options.explain;
  const std::vector<Decision> decisions = pass->run(run_options);
  const double decide_seconds = seconds_since(deciding);
  if (!options.decisions.empty()) {
    std::ofstream file(options.decisions, std::ios::binary);
    file << decisions_json(decisions);
    if (!file.flush()) {
      err << fmt::format("berth: cannot write {}\n", options.decisions);
      return 1;
    }
  }
  std::size_t placed = 0;
  for (const Decision& decision : decisions) placed += decision.node.empty() ? 0 : 1;
  out << fmt::format("placed {}, pending {}\n", placed, decisions.size() - placed);
  err << fmt::format("read {:.3f} s, decided {} in {:.3f} s, {:.0f}/s\n", read_seconds, decisions.size(), decide_seconds,
                     decide_seconds > 0 ? static_cast<double>(decisions.size()) / decide_seconds : 0.0);
  return options.fail_on_pending && placed != decisions.size() ? 3 : 0;
}

}  // namespace berth::app
