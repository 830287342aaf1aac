// SPDX-License-Identifier: Apache-2.0
#include "app/commands/simulate_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>

#include "app/simulate/policy_run.hpp"
#include "report/compare_report.hpp"
#include "report/decisions_file.hpp"
#include "report/explain_report.hpp"
#include "report/html_report.hpp"
#include "report/report_json.hpp"
#include "report/report_text.hpp"
#include "report/text_table.hpp"

namespace berth::app {
namespace {

/// One `berth simulate`, step by step; each step says what is wrong and returns false.
class SimulateRun {
 public:
  SimulateRun(const SimulateOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  int run() {
    if (const Status checked = check(); !checked.ok()) {
      err_ << "berth: " << checked.error().message << '\n';
      return 2;
    }
    read_standard_input();
    PolicyRun a(policy(options_.config), err_);
    if (!good(a.run())) return 1;
    const report::SimulationReport report = a.report();
    bool all_declared = good(a.check_inputs());
    std::size_t pending = report.count(report::PodState::pending);
    if (options_.compare) {
      PolicyRun b(policy(*options_.compare), err_);
      if (!good(b.run())) return 1;
      all_declared = good(b.check_inputs()) && all_declared;
      const report::SimulationReport other = b.report();
      pending += other.count(report::PodState::pending);
      compare({name_of(options_.config), report}, {name_of(*options_.compare), other});
    } else if (!show(report, a)) {
      return 1;
    }
    const auto count = static_cast<double>(a.decisions().size());
    err_ << fmt::format("read {:.3f} s, decided {} in {:.3f} s, {:.0f}/s\n", a.read_seconds(), a.decisions().size(),
                        a.decide_seconds(), a.decide_seconds() > 0 ? count / a.decide_seconds() : 0.0);
    if (!all_declared) return 1;
    return options_.fail_on_pending && pending != 0 ? 3 : 0;
  }

 private:
  bool for_programs() const { return options_.output == "json" || options_.output == "yaml"; }
  static std::string name_of(const std::string& config) { return config.empty() ? "defaults" : config; }
  bool good(const RunStatus& done) {
    if (!done.ok()) err_ << done.error().lines;
    return done.ok();
  }

  /// Fails when some options cannot be had together.
  Status check() const {
    if (options_.until_full && options_.pod.empty())
      return Error{"--until-full needs --pod FILE: the manifest of the pod that the cluster is filled with"};
    if (!options_.until_full && !options_.pod.empty())
      return Error{"--pod is for --until-full: add it, or leave --pod out"};
    if (options_.until_full && options_.single_pass)
      return Error{"--until-full binds pods, which --single-pass does not: leave one of them out"};
    if (options_.output == "html" && (options_.compare || !options_.explain.empty()))
      return Error{"-o html is one page with every pod: leave --explain and --compare out"};
    if (!options_.why_not.empty() && options_.explain.empty())
      return Error{"--why-not NODE needs --explain NAMESPACE/NAME: the pod that is not on the node"};
    if (options_.until_full && !options_.explain.empty())
      return Error{"--explain is about a pod of the cluster, --until-full about a full one: leave one of them out"};
    if (!options_.record.empty() && (options_.compare || options_.single_pass))
      return Error{"--record is of one simulation as a whole: leave --compare and --single-pass out"};
    if (options_.compare && !options_.decisions.empty())
      return Error{"--decisions writes those of one policy: run each alone, without --compare"};
    const auto inputs = std::count(options_.cluster.begin(), options_.cluster.end(), "-");
    if (inputs + (options_.pod == "-" ? 1 : 0) > 1)
      return Error{"standard input can be read once: write - for one of --cluster and --pod"};
    if (options_.compare && !options_.explain.empty())
      return Error{"--explain is about one policy, --compare about two: leave one of them out"};
    return Unit{};
  }

  /// What is to be read twice is kept.
  void read_standard_input() {
    if (!options_.compare) return;
    bool is_read = options_.pod == "-";
    for (const std::string& path : options_.cluster) is_read = is_read || path == "-";
    if (is_read) standard_input_.emplace(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }

  PolicyRun::Options policy(const std::string& config) {
    PolicyRun::Options run;
    run.cluster = options_.cluster;
    run.config = config;
    run.plugin_dir = options_.plugin_dir;
    run.single_pass = options_.single_pass;
    if (!options_.decisions.empty()) run.decisions = &decisions_.emplace(options_.decisions);
    run.explain_pod = options_.explain;
    run.changes = options_.changes;
    run.pod = options_.pod;
    run.record = options_.record;
    run.shows_progress = &err_ == &std::cerr && isatty(STDERR_FILENO) == 1;
    if (standard_input_) {
      kept_input_.str(*standard_input_);
      kept_input_.clear();
      run.standard_input = &kept_input_;
    }
    return run;
  }

  report::TableStyle table_style() const {
    report::TableStyle style;
    style.wide = options_.output == "wide";
    style.colour = &out_ == &std::cout && isatty(STDOUT_FILENO) == 1;
    return style;
  }

  void compare(const report::Policy& a, const report::Policy& b) {
    if (!for_programs()) {
      out_ << report::render_comparison(a, b, table_style());
    } else {
      const std::string json = report::render_comparison_json(a, b);
      out_ << (options_.output == "yaml" ? report::yaml_of_json(json) : json);
    }
    out_.flush();
  }

  bool show(const report::SimulationReport& report, PolicyRun& run) {
    const report::TableStyle style = table_style();
    if (!options_.explain.empty()) {
      const Result<std::optional<report::FitReport>> found = run.fit(options_.explain, options_.why_not);
      if (!found.ok()) {
        err_ << "berth: " << report::terminal_text(found.error().message) << '\n';
        return false;
      }
      const report::FitReport* const fit = *found ? &**found : nullptr;
      report::ExplainStyle explain;
      explain.colour = style.colour;
      explain.wide = style.wide;
      const Result<std::string> text =
          for_programs() ? report::render_explanation_json(report, run.decisions(), options_.explain, fit)
                         : report::render_explanation(report, run.decisions(), options_.explain, explain, fit);
      if (!text.ok()) {
        err_ << "berth: " << report::terminal_text(text.error().message) << '\n';
        return false;
      }
      out_ << (options_.output == "yaml" ? report::yaml_of_json(*text) : *text);
      return true;
    }
    if (options_.output == "html") {
      out_ << report::render_html(report, run.page_parts(report));
      out_.flush();
      return true;
    }
    if (options_.output == "json")
      report::print_json(report, out_);
    else
      out_ << (options_.output == "yaml" ? report::render_yaml(report) : report::render_table(report, style));
    out_.flush();
    return true;
  }

  const SimulateOptions& options_;
  std::ostream& out_;
  std::ostream& err_;
  std::optional<std::string> standard_input_;  // where it is read twice
  std::istringstream kept_input_;
  std::optional<report::DecisionsFile> decisions_;  // with --decisions
};

}  // namespace

int run_simulate(const SimulateOptions& options, std::ostream& out, std::ostream& err) {
  return SimulateRun(options, out, err).run();
}

}  // namespace berth::app
