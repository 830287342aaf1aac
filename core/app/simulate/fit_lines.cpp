// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/fit_lines.hpp"

#include <stdexcept>
#include <utility>

#include "app/simulate/cluster_moment.hpp"
#include "app/simulate/fit_search.hpp"
#include "app/simulate/simulation.hpp"
#include "report/what_if/fit_report.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_questions_max = 128;

}  // namespace

FitLines::FitLines(SymbolTable& symbols, const config::Configuration& configuration, const PluginLibrary& plugins,
                   const Clock& clock)
    : symbols_(symbols),
      configuration_(configuration),
      has_extenders_(!configuration.extenders.empty()),
      plugins_(plugins),
      clock_(clock) {
  configuration_.extenders.clear();
}

std::string FitLines::line(const cache::ClusterCache& cache, const cluster::kube::KubeReader& reader,
                           const model::PodPtr& pod, const binding::GoesOn& goes_on) const {
  const SymbolCollection names(symbols_);
  return line(cluster_moment(cache, reader, symbols_, pod->ns.get()), pod, goes_on);
}

std::string FitLines::line(const std::vector<decode::Decoded>& cluster, const model::PodPtr& pod,
                           const binding::GoesOn& goes_on) const {
  // Names of what is only imagined go with it, instead of staying for the life of the table.
  const SymbolCollection imagined(symbols_);
  Simulation::Options options;
  options.start_wall_ns = clock_.wall_ns();
  options.record_writes = false;
  options.has_controllers = false;
  auto simulation = Simulation::make(symbols_, configuration_, plugins_, std::move(options));
  if (!simulation.ok()) throw std::runtime_error(simulation.error().render());
  for (const decode::Decoded& object : cluster) (*simulation)->cluster().put(object);
  (*simulation)->take_in();
  if (!goes_on()) return {};
  FitSearch search((*simulation)->scheduler().decision_parts(), symbols_, k_questions_max, goes_on);
  const Result<report::FitReport> found = search.search(pod);
  if (!found.ok()) throw std::runtime_error(found.error().message);
  if (found->fits_now != 0 && has_extenders_) return {};
  return report::fit_line(*found, pod->ns, binding::ExplainedEvents::k_line_bytes_max);
}

}  // namespace berth::app
