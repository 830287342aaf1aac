// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "report/decision.hpp"
#include "report/simulate_report.hpp"
#include "report/what_if/fit_report.hpp"

namespace berth::report {

struct ExplainStyle {
  bool colour = false;
  bool wide = false;           // every node
  std::size_t node_rows = 50;  // per table, unless wide
};

/// Why a pod is where it is, or nowhere: how many nodes each answer rejected, then node by node; for the nodes that
/// were possible the points of each plugin, weights included, and how the choice fell. Several attempts: the last one
/// that was explained; the others' answers in one line each. A pod that was never tried is explained by its state.
/// Failure: an Error when the report has no such pod. `pod`: "namespace/name".
/// `fit`: what would make it fit, below the rest; null: that was not looked for.
Result<std::string> render_explanation(const SimulationReport& report, std::span<const Decision> decisions,
                                       std::string_view pod, const ExplainStyle& style, const FitReport* fit = nullptr);
/// The same for programs; names of members stay, later versions may add some: pod, state, node or null, message (why it has
/// none), waitsForSeconds (of a live cluster: since it was created),
/// scheduler {place, attempts, since, nextTry, triedAgainBy, rejectedBy[], wokenBy[]} (where a running one was asked; times are
/// left out where there are none),
/// attempts[] {node or null, message} (of a live cluster the last at most),
/// judgedNodes, feasibleNodes, rejections[] {plugin, reason, nodes} (the most nodes first; a node counts for each of its reasons),
/// rejected {node: {plugin, code, reasons, details[] {text, count} (left out when there are none)}} ("*": no node was
/// looked at),
/// scores {node: {total, plugins {name: points}}},
/// fit, as of write_fit() (left out when it was not looked for).
Result<std::string> render_explanation_json(const SimulationReport& report, std::span<const Decision> decisions,
                                            std::string_view pod, const FitReport* fit = nullptr);

}  // namespace berth::report
