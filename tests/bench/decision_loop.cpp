// SPDX-License-Identifier: Apache-2.0
// The decision loop alone: queue pop, decide over every node, assume. One workload per run; every decision is checked.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "bench/checker.hpp"
#include "bench/command_line.hpp"
#include "bench/decision_run.hpp"
#include "bench/workload.hpp"

namespace berth::bench {
namespace {

struct Options : CommonOptions {
  std::string reuse = "on";
  std::string config;
  bool linked = false;
  std::size_t nodes = 0;
  std::string record;  // a directory
  std::size_t record_in_turns = 0;
};

/// Of a decision, from the seconds of so many.
double middle_us(std::vector<double> seconds, std::size_t decisions) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle * 1e6 / static_cast<double>(decisions);
}

int run(const Options& options) {
  SymbolTable symbols;
  const auto workload = read_workload(options.workload, symbols, options.nodes);
  if (!workload) {
    std::cerr << workload.error().message << '\n';
    return 1;
  }
  const bool gangs = workload->gang > 1;
  const app::PluginLibrary plugins =
      options.linked ? linked_policies()
                     : app::load_plugins(raw_configuration(gangs, options.config), options.plugin_dir);
  const config::VerdictReuse reuse = options.reuse == "off"      ? config::VerdictReuse::off
                                     : options.reuse == "verify" ? config::VerdictReuse::verify
                                                                 : config::VerdictReuse::on;
  const config::Configuration configuration = default_configuration(plugins, reuse, gangs, options.config);
  const SystemClock clock;
  std::unique_ptr<recording::Recorder> recorder;
  if (!options.record.empty()) {
    recording::RecorderOptions recording;
    recording.directory = options.record;
    recording.follows_ticks = true;
    auto started = recording::Recorder::start(std::move(recording), symbols, clock);
    if (!started.ok()) {
      std::cerr << started.error().message << '\n';
      return 1;
    }
    recorder = std::move(*started);
  }
  const DecisionRun f =
      run_decisions(*workload, symbols, configuration, plugins, {recorder.get(), options.record_in_turns});
  if (recorder) {
    recorder->stop();
    const recording::RecorderCounts counts = recorder->counts();
    std::cerr << fmt::format("recorded {} records in {} bytes, dropped {}\n", counts.records, counts.bytes,
                             counts.dropped);
  }
  std::string wrong;
  double check_seconds = 0;
  const bool is_checked = options.check && is_checkable(*workload);
  if (is_checked) {
    const auto checking = std::chrono::steady_clock::now();
    wrong =
        f.placements.size() == workload->pods.size() ? check(*workload, f.placements) : "pods were left in the queue";
    check_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - checking).count();
  }
  if (f.violations != 0)
    wrong += fmt::format("{}{} violations of verdict reuse", wrong.empty() ? "" : "; ", f.violations);
  const double rate = static_cast<double>(f.placements.size()) / f.seconds;
  std::string turns;
  if (!f.other_slices.empty())
    turns = fmt::format(R"(,"recorded_us":{:.3f},"not_recorded_us":{:.3f})",
                        middle_us(f.recorded_slices, options.record_in_turns),
                        middle_us(f.other_slices, options.record_in_turns));
  if (options.json)
    std::cout << fmt::format(
        R"({{"workload":"{}","policies":"{}","reuse":"{}","nodes":{},"decisions":{},"placed":{},"seconds":{:.6f},"cpu_seconds":{:.6f},"rate":{:.0f},)"
        R"("allocations_per_cycle":{},"mean_allocations_per_cycle":{:.2f},"checked":{},"wrong":"{}"{}}})",
        workload->name, options.linked ? "linked" : "so", options.reuse, workload->nodes.size(), f.placements.size(),
        f.placed(), f.seconds, f.cpu_seconds, rate, f.typical_allocations(), f.mean_allocations(), is_checked, wrong,
        turns);
  else
    std::cout << fmt::format(
        "{} ({}, reuse {}): {} decisions on {} nodes in {:.3f} s, {:.0f}/s, {:.3f} s of CPU, {} allocations in a cycle "
        "(mean {:.2f}); "
        "{}",
        workload->name, options.linked ? "linked in" : ".so", options.reuse, f.placements.size(),
        workload->nodes.size(), f.seconds, rate, f.cpu_seconds, f.typical_allocations(), f.mean_allocations(),
        !wrong.empty() ? "WRONG: " + wrong
        : is_checked   ? fmt::format("{} decisions checked in {:.1f} s", checked_decisions(*workload), check_seconds)
                       : "not checked");
  std::cout << std::endl;
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App cli{"Times the decision loop over one workload file and checks every decision"};
  berth::bench::Options options;
  berth::bench::add_common(cli, options);
  cli.add_option("--reuse", options.reuse, "on, off or verify")->check(CLI::IsMember({"on", "off", "verify"}));
  cli.add_option("--nodes", options.nodes, "So many nodes instead of what the file says");
  cli.add_option("--record", options.record, "Record the decisions in this directory, as a running scheduler does");
  cli.add_option("--record-in-turns", options.record_in_turns,
                 "Record so many decisions, leave as many out, and so on; --json has the CPU of either");
  cli.add_option("--config", options.config, "Configuration file instead of the default profile");
  cli.add_flag("--linked", options.linked, "Policies linked in instead of loaded");
  return berth::bench::run_command(cli, argc, argv, [&] { return berth::bench::run(options); });
}
