// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plugin/bench_command.hpp"

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstdlib>
#include <ostream>

#include "app/verify/file_under_test.hpp"
#include "app/verify/plugin_allocations.hpp"
#include "app/verify/plugin_cost.hpp"
#include "app/verify/trial.hpp"
#include "loader/findings.hpp"
#include "text/json_writer.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_figures = 4;
constexpr char k_separator = '\t';  // in a note, between fields

TrialLimits limits_of_bench() {
  TrialLimits limits;
  limits.time = std::chrono::minutes(10);
  limits.memory_bytes = std::size_t{16} << 30;
  return limits;
}

/// In a process of its own: the figures come back as notes.
Result<PluginCost> cost_of(const TestedPlugins& plugins, std::size_t nodes, std::size_t rounds) {
  const TrialResult trial = run_trial(
      [&](Findings& findings) {
        const Result<PluginCost> cost = measure_cost(plugins, nodes, rounds);
        if (!cost.ok()) return findings.wrong(cost.error().message);
        for (const double ns : {cost->decision_ns, cost->decision_without_ns, cost->reused_ns, cost->reused_without_ns})
          findings.note(fmt::format("{:.0f}", ns));
      },
      limits_of_bench());
  if (!trial.wrong.empty()) return Error{fmt::format("{}", fmt::join(trial.wrong, "; "))};
  if (trial.notes.size() != k_figures) return Error{"the process that measures did not say what it measured"};
  const auto figure = [&](std::size_t i) { return std::strtod(trial.notes[i].c_str(), nullptr); };
  return PluginCost{figure(0), figure(1), figure(2), figure(3), nodes};
}

/// Likewise, in another process: counting is not free.
Result<std::vector<PointAllocations>> allocations_of(const TestedPlugins& plugins, std::size_t nodes,
                                                     std::size_t rounds) {
  const TrialResult trial = run_trial(
      [&](Findings& findings) {
        const auto measured = measure_allocations(plugins, nodes, rounds);
        if (!measured.ok()) return findings.wrong(measured.error().message);
        for (const PointAllocations& at : *measured)
          findings.note(fmt::format("{}\t{}\t{}\t{}\t{}\t{}", at.plugin, at.point, at.attempts, at.calls,
                                    at.allocations, at.bytes));
      },
      limits_of_bench());
  if (!trial.wrong.empty()) return Error{fmt::format("{}", fmt::join(trial.wrong, "; "))};
  std::vector<PointAllocations> all;
  for (const std::string& note : trial.notes) {
    std::vector<std::string> fields{""};
    for (const char c : note)
      if (c == k_separator)
        fields.emplace_back();
      else
        fields.back() += c;
    if (fields.size() != 6) return Error{"the process that counts did not say what it counted"};
    const auto figure = [&](std::size_t i) { return std::strtoull(fields[i].c_str(), nullptr, 10); };
    all.push_back({fields[0], fields[1], figure(2), figure(3), figure(4), figure(5)});
  }
  return all;
}

}  // namespace

int bench_plugin(const PluginBenchOptions& options, std::ostream& out, std::ostream& err) {
  const auto file = FileUnderTest::take(options.file, options.plugin_dir, options.config,
                                        inspection_rules(options.product, options.host_services));
  const Result<PluginCost> cost =
      file.ok() ? cost_of((*file)->plugins(), options.nodes, options.rounds) : Result<PluginCost>(file.error());
  if (!cost.ok()) {
    err << loader::escaped(cost.error().message, 8'000) << '\n';
    return 1;
  }
  // Where allocations cannot be counted, the times are worth having nevertheless.
  const auto allocations = allocations_of((*file)->plugins(), options.nodes, options.rounds);
  if (options.json) {
    text::JsonWriter json;
    json.begin_object().key("file").text(options.file).key("nodes").number(options.nodes);
    const auto figure = [&](const char* name, double ns) { json.key(name).raw(fmt::format("{:.1f}", ns)); };
    figure("decisionNs", cost->decision_ns);
    figure("decisionWithoutNs", cost->decision_without_ns);
    figure("reusedNs", cost->reused_ns);
    figure("reusedWithoutNs", cost->reused_without_ns);
    figure("nodeNs", cost->node_ns());
    write_allocations(allocations, json);
    out << json.end_object().take() << '\n';
    return 0;
  }
  const auto line = [&](const char* what, double with_ns, double without_ns) {
    out << fmt::format("{:<30}{:>10.1f} us {:>10.1f} us\n", what, with_ns / 1'000, without_ns / 1'000);
  };
  out << fmt::format("{:<30}{:>13} {:>13}\n", fmt::format("{} nodes, {} rounds", options.nodes, options.rounds),
                     "with it", "without it");
  line("a decision, every node judged", cost->decision_ns, cost->decision_without_ns);
  line("a decision, verdicts reused", cost->reused_ns, cost->reused_without_ns);
  out << fmt::format("it takes {:.1f} ns for each node; medians\n", cost->node_ns());
  out << "allocations per call: " << to_text(allocations) << '\n';
  return 0;
}

}  // namespace berth::app
