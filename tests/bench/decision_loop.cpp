// SPDX-License-Identifier: Apache-2.0
// The decision loop alone: queue pop, decide over every node, assume. One workload per run; every decision is checked.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <unordered_map>

#include "app/single_pass.hpp"
#include "bench/allocation_count.hpp"
#include "bench/checker.hpp"
#include "bench/workload.hpp"
#include "berth/static_plugins.hpp"
#include "config/resolve.hpp"

namespace berth::bench {
namespace {

struct Options {
  std::string workload, plugin_dir, reuse = "on";
  bool linked = false, json = false, check = true;
};

struct Figures {
  std::size_t decisions = 0, placed = 0;
  double seconds = 0, check_seconds = 0;
  double allocations_per_cycle = 0;  // second half: buffers have grown by then
  std::string wrong;
};

app::PluginLibrary plugins_for(const Options& options, const config::RawConfiguration& raw) {
  if (!options.linked) return app::load_plugins(raw, options.plugin_dir);
  app::PluginLibrary library;
  library.plugins = loader::LoadedPlugins::from_static(static_plugins(), app::host_offer(), library.report);
  return library;
}

Figures measure(const Options& options, const Workload& workload, SymbolTable& symbols,
                const config::Configuration& configuration, const app::PluginLibrary& plugins) {
  std::vector<std::string> complaints;
  auto pass = app::SinglePass::make(symbols, configuration, plugins, complaints);
  if (!pass) throw std::runtime_error(complaints.empty() ? "no scheduler" : complaints.front());
  cluster::Manifests manifests;
  for (const auto& node : workload.nodes) manifests.objects.emplace_back(node);
  for (const auto& pod : workload.pods) manifests.objects.emplace_back(pod);
  pass->load(manifests);
  std::vector<Symbol> chosen;
  chosen.reserve(workload.pods.size());
  queue::SchedulingQueue& queue = pass->scheduler().queue();
  cycle::SchedulingCycle& cycle = pass->scheduler().cycle();

  Figures figures;
  const std::size_t half = workload.pods.size() / 2;
  std::uint64_t allocations_at_half = 0;
  const auto start = std::chrono::steady_clock::now();
  while (auto ticket = queue.pop()) {
    if (chosen.size() == half) allocations_at_half = allocation_count();
    cycle::Outcome outcome = cycle.run(ticket->pod(), ticket->pod_class());
    Symbol node = k_no_symbol;
    if (auto* placement = std::get_if<cycle::Placement>(&outcome)) {
      node = placement->assumption.node_name();
      placement->assumption.confirm();
    }
    chosen.push_back(node);
    queue.done(std::move(*ticket));
  }
  figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  figures.decisions = chosen.size();
  figures.allocations_per_cycle =
      static_cast<double>(allocation_count() - allocations_at_half) /
      static_cast<double>(chosen.size() - half);

  std::unordered_map<Symbol, int> index;
  for (std::size_t i = 0; i < workload.nodes.size(); ++i) index[workload.nodes[i]->name_symbol] = static_cast<int>(i);
  std::vector<int> placements;
  for (const Symbol node : chosen) {
    placements.push_back(node == k_no_symbol ? -1 : index.at(node));
    figures.placed += node == k_no_symbol ? 0 : 1;
  }
  if (options.check) {
    const auto checking = std::chrono::steady_clock::now();
    figures.wrong = placements.size() == workload.pods.size() ? check(workload, placements) : "pods were left in the queue";
    figures.check_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - checking).count();
  }
  return figures;
}

int run(const Options& options) {
  SymbolTable symbols;
  const auto workload = read_workload(options.workload, symbols);
  if (!workload) {
    std::cerr << workload.error().message << '\n';
    return 1;
  }
  const config::RawConfiguration raw = config::load_defaults();
  const app::PluginLibrary plugins = plugins_for(options, raw);
  text::Problems problems;
  config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  if (!plugins.ok() || !problems.empty()) {
    std::cerr << plugins.report.render() << problems.render() << '\n';
    return 1;
  }
  configuration.plugins.verdict_reuse =
      options.reuse == "off" ? config::VerdictReuse::off : config::VerdictReuse::on;
  const Figures f = measure(options, *workload, symbols, configuration, plugins);
  const double rate = static_cast<double>(f.decisions) / f.seconds;
  if (options.json)
    std::cout << fmt::format(
        R"({{"workload":"{}","policies":"{}","reuse":"{}","nodes":{},"decisions":{},"placed":{},"seconds":{:.6f},"rate":{:.0f},)"
        R"("allocations_per_cycle":{:.2f},"checked":{},"wrong":"{}"}})",
        workload->name, options.linked ? "linked" : "so", options.reuse, workload->nodes.size(), f.decisions, f.placed,
        f.seconds, rate, f.allocations_per_cycle, options.check, f.wrong);
  else
    std::cout << fmt::format("{} ({}, reuse {}): {} decisions on {} nodes in {:.3f} s, {:.0f}/s, {:.2f} allocations per cycle; {}",
                             workload->name, options.linked ? "linked in" : ".so", options.reuse, f.decisions,
                             workload->nodes.size(), f.seconds, rate, f.allocations_per_cycle,
                             !options.check      ? "not checked"
                             : f.wrong.empty() ? fmt::format("every decision checked in {:.1f} s", f.check_seconds)
                                               : "WRONG: " + f.wrong);
  std::cout << std::endl;
  return f.wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App cli{"Times the decision loop over one workload file and checks every decision"};
  berth::bench::Options options;
  cli.add_option("WORKLOAD", options.workload, "Workload file")->required();
  cli.add_option("--plugin-dir", options.plugin_dir, "Directory of plugin files");
  cli.add_option("--reuse", options.reuse, "on or off")->check(CLI::IsMember({"on", "off"}));
  cli.add_flag("--linked", options.linked, "Policies linked in instead of loaded");
  cli.add_flag("--json", options.json, "One JSON object");
  cli.add_flag("!--no-check", options.check, "Do not check the decisions");
  CLI11_PARSE(cli, argc, argv);
  try {
    return berth::bench::run(options);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
