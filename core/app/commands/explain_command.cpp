// SPDX-License-Identifier: Apache-2.0
#include "app/commands/explain_command.hpp"

#include <unistd.h>

#include <iostream>

#include "app/simulate/cluster_view.hpp"
#include "report/explain_report.hpp"
#include "report/report_json.hpp"
#include "report/text_table.hpp"

namespace berth::app {
namespace {

// So that the answer is one screen; -o wide and json have every node.
constexpr std::size_t k_node_rows = 5;

Result<std::string> explanation(const ExplainOptions& options, PolicyRun& run, const report::SimulationReport& report,
                                bool colour) {
  const Result<std::optional<report::FitReport>> found = run.fit(options.pod, options.why_not);
  if (!found.ok()) return found.error();
  const report::FitReport* const fit = *found ? &**found : nullptr;
  if (options.output == "json" || options.output == "yaml") {
    Result<std::string> json = report::render_explanation_json(report, run.decisions(), options.pod, fit);
    if (!json.ok() || options.output == "json") return json;
    return report::yaml_of_json(*json);
  }
  report::ExplainStyle style;
  style.colour = colour;
  style.wide = options.output == "wide";
  style.node_rows = k_node_rows;
  return report::render_explanation(report, run.decisions(), options.pod, style, fit);
}

bool waits(const report::SimulationReport& report, std::string_view pod) {
  for (const report::PodLine& line : report.pods)
    if (line.key() == pod) return line.state == report::PodState::pending || line.state == report::PodState::gated;
  return false;
}

}  // namespace

int run_explain(const ExplainOptions& options, std::ostream& out, std::ostream& err) {
  if (const Status checked = options.view.check(); !checked.ok()) {
    err << "berth: " << checked.error().message << '\n';
    return 2;
  }
  ClusterView view(options.view, err);
  const auto looked = view.look({.pod = options.pod});
  if (!looked.ok()) {
    err << looked.error().lines;
    return 1;
  }
  PolicyRun& run = **looked;
  const report::SimulationReport report = run.report();
  const bool colour = &out == &std::cout && isatty(STDOUT_FILENO) == 1;
  const Result<std::string> text = explanation(options, run, report, colour);
  if (!text.ok()) {
    err << "berth: " << report::terminal_text(text.error().message) << '\n';
    return 1;
  }
  out << *text;
  out.flush();
  if (const RunStatus checked = run.check_inputs(); !checked.ok()) {
    err << checked.error().lines;
    return 1;
  }
  return options.fail_on_pending && waits(report, options.pod) ? 3 : 0;
}

}  // namespace berth::app
