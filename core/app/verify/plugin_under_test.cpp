// SPDX-License-Identifier: Apache-2.0
#include "app/verify/plugin_under_test.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <sstream>

#include "app/plugins/decode_retention.hpp"
#include "cluster/embedded/claim_controller.hpp"
#include "cluster/embedded/manifest_reader.hpp"
#include "config/resolve.hpp"
#include "text/diagnostics.hpp"

namespace berth::app {
namespace {

/// 2026-01-01: whatever a policy thinks of the time, it is the same in every trial.
constexpr std::int64_t k_start_wall_ns = std::int64_t{1'767'225'600} * 1'000'000'000;

/// The default profile, and the plugins at every point that they have.
std::string configuration_of(const TestedPlugins& tested, const PluginUnderTest::Options& options, bool sorts_queue) {
  std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
      "- schedulerName: default-scheduler\n";
  if (!options.with_plugins) return text;
  text += "  plugins:\n    multiPoint:\n      enabled:\n";
  for (const loader::PluginNote& note : tested.notes)
    text += fmt::format("      - {{name: {}, weight: 1}}\n", note.plugin);
  // A profile has one order of its queue: that of the plugin, where it has one.
  if (sorts_queue)
    text += fmt::format("    queueSort:\n      disabled: [{{name: \"*\"}}]\n      enabled: [{{name: {}}}]\n",
                        tested.notes.front().plugin);
  if (!options.args.empty())
    text += fmt::format("  pluginConfig:\n  - {{name: {}, args: {}}}\n", tested.notes.front().plugin, options.args);
  return text;
}

void leave_out(config::RawConfiguration& raw, const TestedPlugins& tested) {
  for (config::RawProfile& profile : raw.profiles) {
    for (config::RawPluginSet& set : profile.plugins)
      std::erase_if(set.enabled, [&](const config::RawPlugin& plugin) { return tested.has(plugin.name); });
    std::erase_if(profile.plugin_config,
                  [&](const config::RawPluginConfig& config) { return tested.has(config.name); });
  }
}

}  // namespace

bool TestedPlugins::has(std::string_view name) const {
  return std::any_of(notes.begin(), notes.end(), [&](const loader::PluginNote& note) { return note.plugin == name; });
}

bool TestedPlugins::has_point(std::string_view point) const {
  return std::any_of(notes.begin(), notes.end(), [&](const loader::PluginNote& note) {
    return std::any_of(note.points.begin(), note.points.end(), [&](const std::string& each) {
      return each.size() > point.size() && each.starts_with(point) && each[point.size()] == '/';
    });
  });
}

PluginUnderTest::~PluginUnderTest() = default;

Result<std::unique_ptr<PluginUnderTest>> PluginUnderTest::make(const TestedPlugins& tested, const Options& options) {
  std::unique_ptr<PluginUnderTest> made(new PluginUnderTest);
  if (Status loaded = made->load(tested, options); !loaded.ok()) return loaded.error();
  return made;
}

Status PluginUnderTest::load(const TestedPlugins& tested, const Options& options) {
  Status configured = configure(tested, options, false);
  if (!configured.ok() && tested.has_point("berth.queue")) {
    if (configure(tested, options, true).ok()) configured = Unit{};
  }
  if (!configured.ok()) return configured;
  configuration_.extenders.clear();
  Simulation::Options simulation;
  simulation.start_wall_ns = k_start_wall_ns;
  simulation.record_writes = false;
  simulation.withheld = options.withheld;
  auto made = Simulation::make(symbols_, configuration_, plugins_, std::move(simulation));
  if (!made.ok()) return Error{made.error().render()};
  simulation_ = std::move(*made);
  return Unit{};
}

Status PluginUnderTest::configure(const TestedPlugins& tested, const Options& options, bool sorts_queue) {
  text::Diagnostics diagnostics;
  raw_ = tested.config.empty() || !options.args.empty() ? config::load(configuration_of(tested, options, sorts_queue),
                                                                       "the configuration of this check", diagnostics)
                                                        : config::load_file(tested.config, diagnostics);
  if (!options.with_plugins) leave_out(raw_, tested);
  raw_.values.plugins.verdict_reuse = options.reuse;
  plugins_ = load_plugins(raw_, tested.plugin_dir);
  if (!plugins_.ok()) return Error{plugins_.report.render()};
  if (diagnostics.empty())
    configuration_ = config::resolve(raw_, plugins_.catalog(), config::AbsentPlugins::embedded(), diagnostics);
  if (!diagnostics.empty()) return Error{diagnostics.render()};
  return Unit{};
}

std::vector<model::PodPtr> PluginUnderTest::put(const std::string& manifests) {
  std::istringstream text(manifests);
  cluster::ManifestOptions options;
  options.decode = decode_options(configuration_, scheduler().views().framework);
  options.decode.watched = scheduler().views().objects.resources();
  options.decode.watched.emplace_back(cluster::k_claim_templates);
  options.now_ns = k_start_wall_ns;
  options.standard_input = &text;
  text::Diagnostics diagnostics;
  const cluster::Manifests read = cluster::read_manifests({"-"}, symbols_, options, diagnostics);
  BERTH_CHECK(diagnostics.empty(), "the clusters of the checks can be read");
  std::vector<model::PodPtr> waiting;
  cluster::in_list_order(read, [&](const decode::Decoded& object) {
    simulation_->cluster().put(object);
    const auto* const pod = std::get_if<model::PodPtr>(&object);
    if (pod != nullptr && (*pod)->node_name == k_no_symbol) waiting.push_back(*pod);
  });
  return waiting;
}

std::vector<report::Decision> PluginUnderTest::decide() {
  std::vector<report::Decision> decisions;
  simulation_->run_to_the_end([&](report::Decision decision) { decisions.push_back(std::move(decision)); });
  return decisions;
}

}  // namespace berth::app
