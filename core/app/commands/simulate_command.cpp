// SPDX-License-Identifier: Apache-2.0
#include "app/commands/simulate_command.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "app/commands/config_command.hpp"
#include "app/plugins/field_needs.hpp"
#include "app/plugins/kept_parts.hpp"
#include "app/simulate/claim_report.hpp"
#include "app/simulate/simulation.hpp"
#include "app/simulate/single_pass.hpp"
#include "cluster/embedded/claim_controller.hpp"
#include "config/resolve.hpp"
#include "report/explain_report.hpp"
#include "report/progress_bar.hpp"
#include "report/report_json.hpp"
#include "report/report_text.hpp"
#include "report/simulate_report.hpp"
#include "report/text_table.hpp"

namespace berth::app {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Everything a run leaves behind that is worth showing.
struct Finished {
  std::vector<report::Decision> decisions;
  report::SimulationReport report;
};

/// Placed pods, nodes and the rest, in the order in which an API server's lists would be complete: pods last.
template <typename Put>
void in_order(const cluster::Manifests& manifests, Put&& put) {
  for (const bool pods : {false, true})
    for (const decode::Decoded& object : manifests.objects)
      if (std::holds_alternative<model::PodPtr>(object) == pods) put(object);
}

std::vector<model::PodPtr> all_pods(const cluster::Manifests& manifests) {
  std::vector<model::PodPtr> pods;
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* pod = std::get_if<model::PodPtr>(&object)) pods.push_back(*pod);
  return pods;
}

/// One run of `berth simulate`, step by step; each step says what is wrong and returns false.
class SimulateRun {
 public:
  SimulateRun(const SimulateOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  int run() {
    if (!configure() || !make_host() || !read_cluster()) return 1;
    const auto deciding = std::chrono::steady_clock::now();
    Finished finished;
    decide(finished.decisions);
    const double seconds = seconds_since(deciding);
    finished.report = report(finished.decisions);
    if (!write_decisions(finished.decisions) || !show(finished)) return 1;
    err_ << fmt::format("read {:.3f} s, decided {} in {:.3f} s, {:.0f}/s\n", read_seconds_, finished.decisions.size(),
                        seconds, seconds > 0 ? static_cast<double>(finished.decisions.size()) / seconds : 0.0);
    return options_.fail_on_pending && finished.report.count(report::PodState::pending) != 0 ? 3 : 0;
  }

 private:
  bool configure();
  bool make_host();
  bool read_cluster();
  void decide(std::vector<report::Decision>& decisions);
  report::SimulationReport report(const std::vector<report::Decision>& decisions);
  bool write_decisions(const std::vector<report::Decision>& decisions);
  bool show(const Finished& finished);
  scheduler::Scheduler& scheduler() { return pass_ ? pass_->scheduler() : simulation_->scheduler(); }

  const SimulateOptions& options_;
  std::ostream& out_;
  std::ostream& err_;
  SymbolTable symbols_;
  SystemClock system_clock_;
  config::RawConfiguration raw_;
  config::Configuration configuration_;
  PluginLibrary plugins_;
  std::unique_ptr<SinglePass> pass_;        // --single-pass
  std::unique_ptr<Simulation> simulation_;  // otherwise
  cluster::Manifests manifests_;
  double read_seconds_ = 0;
};

bool SimulateRun::configure() {
  text::Diagnostics diagnostics;
  raw_ = options_.config.empty() ? config::load_defaults() : config::load_file(options_.config, diagnostics);
  plugins_ = load_plugins(raw_, options_.plugin_dir);
  if (plugins_.ok())
    configuration_ = config::resolve(raw_, plugins_.catalog(), config::AbsentPlugins::embedded(), diagnostics);
  for (const std::string& warning : plugins_.report.warnings()) err_ << "berth: warning: " << warning << '\n';
  for (const text::Diagnostic& note : raw_.notes.all())
    err_ << fmt::format("berth: warning: {}: {}: {}\n", raw_.file, note.path, note.message);
  if (!plugins_.ok()) err_ << plugins_.report.render();
  if (!diagnostics.empty()) print_diagnostics(err_, diagnostics);
  return plugins_.ok() && diagnostics.empty();
}

bool SimulateRun::make_host() {
  std::vector<std::string> complaints;
  if (options_.single_pass) {
    pass_ = SinglePass::make(symbols_, configuration_, plugins_, complaints, system_clock_.wall_ns());
    if (pass_ && pass_->scheduler().framework().profiles().front()->groups != nullptr) {
      complaints.emplace_back(
          "berth: a single pass decides about one pod at a time: groups need the simulation, without --single-pass");
      pass_.reset();
    }
  } else {
    Simulation::Options simulation;
    simulation.explain_all = !options_.decisions.empty();
    simulation.explain_pod = options_.explain;
    simulation.start_wall_ns = system_clock_.wall_ns();
    simulation.record_writes = false;
    simulation_ = Simulation::make(symbols_, configuration_, plugins_, simulation, complaints);
  }
  for (const std::string& complaint : complaints) err_ << complaint << '\n';
  return pass_ != nullptr || simulation_ != nullptr;
}

bool SimulateRun::read_cluster() {
  const auto reading = std::chrono::steady_clock::now();
  cluster::ManifestOptions manifest_options;
  manifest_options.decode.needs = field_needs(configuration_);
  read_as_gated(configuration_, manifest_options.decode);
  keep_for_extenders(configuration_, manifest_options.decode);
  keep_for_plugins(scheduler().framework(), manifest_options.decode);
  manifest_options.decode.watched = scheduler().objects().resources();
  manifest_options.decode.watched.emplace_back(cluster::k_claim_templates);
  manifest_options.now_ns = system_clock_.wall_ns();
  text::Diagnostics diagnostics;
  manifests_ = cluster::read_manifests(options_.cluster, symbols_, manifest_options, diagnostics);
  read_seconds_ = seconds_since(reading);
  for (const cluster::SkippedKind& skipped : manifests_.skipped)
    err_ << fmt::format("berth: warning: {} object(s) of kind {} ({}) skipped: scheduling does not know them\n",
                        skipped.count, skipped.kind, skipped.api_version);
  if (!diagnostics.empty()) {
    print_diagnostics(err_, diagnostics);
    return false;
  }
  if (pass_) {
    pass_->load(manifests_);
  } else {
    in_order(manifests_, [&](const decode::Decoded& object) { simulation_->cluster().put(object); });
  }
  return true;
}

void SimulateRun::decide(std::vector<report::Decision>& decisions) {
  report::ProgressBar bar(err_, system_clock_, &err_ == &std::cerr && isatty(STDERR_FILENO) == 1, "deciding");
  if (pass_) {
    SinglePass::Options run;
    run.explain_all = !options_.decisions.empty();
    run.explain_pod = options_.explain;
    run.progress = [&](std::size_t done, std::size_t all) { bar.update(done, all); };
    decisions = pass_->run(run);
    return;
  }
  simulation_->run_to_the_end([&](report::Decision decision) {
    decisions.push_back(std::move(decision));
    bar.update(decisions.size(), 0);
  });
  if (options_.decisions.empty()) return;
  for (report::Decision& decision : decisions) decision.claims = claims_json(*decision.pod, simulation_->cluster());
}

report::SimulationReport SimulateRun::report(const std::vector<report::Decision>& decisions) {
  scheduler::Scheduler& host = scheduler();
  const cluster::EmbeddedCluster& cluster = pass_ ? pass_->cluster() : simulation_->cluster();
  return report::make_report(
      {symbols_, host.cache(), host.snapshot(), pass_ ? all_pods(manifests_) : simulation_->cluster().pods(), decisions,
       host.queue().pending_pods(), [&host](std::string_view name) { return host.framework().find(name) != nullptr; },
       pass_ != nullptr, cluster.objects_of(k_slices), cluster.objects_of(k_claims)});
}

bool SimulateRun::write_decisions(const std::vector<report::Decision>& decisions) {
  if (options_.decisions.empty()) return true;
  std::ofstream file(options_.decisions, std::ios::binary);
  file << report::decisions_json(decisions);
  if (file.flush()) return true;
  err_ << fmt::format("berth: cannot write {}\n", options_.decisions);
  return false;
}

bool SimulateRun::show(const Finished& finished) {
  const bool terminal = &out_ == &std::cout && isatty(STDOUT_FILENO) == 1;
  if (!options_.explain.empty()) {
    report::ExplainStyle style;
    style.colour = terminal;
    style.wide = options_.output == "wide";
    const bool for_programs = options_.output == "json" || options_.output == "yaml";
    const Result<std::string> text =
        for_programs ? report::render_explanation_json(finished.report, finished.decisions, options_.explain)
                     : report::render_explanation(finished.report, finished.decisions, options_.explain, style);
    if (!text.ok()) {
      err_ << "berth: " << report::terminal_text(text.error().message) << '\n';
      return false;
    }
    out_ << (options_.output == "yaml" ? report::yaml_of_json(*text) : *text);
    return true;
  }
  report::TableStyle style;
  style.wide = options_.output == "wide";
  style.colour = terminal;
  if (options_.output == "json")
    out_ << report::render_json(finished.report);
  else if (options_.output == "yaml")
    out_ << report::render_yaml(finished.report);
  else
    out_ << report::render_table(finished.report, style);
  out_.flush();
  return true;
}

}  // namespace

int run_simulate(const SimulateOptions& options, std::ostream& out, std::ostream& err) {
  return SimulateRun(options, out, err).run();
}

}  // namespace berth::app
