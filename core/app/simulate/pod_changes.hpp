// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/symbols.hpp"
#include "model/pod.hpp"

/// Pods that ask for less. Pure; what a change is, in words and as JSON, is as report::FitReport says. Pod::body stays as
/// it was: what reads it (extenders, few plugins) sees the pod before the change.
namespace berth::app {

struct PodChange {
  std::string kind, text, json;
  model::PodPtr pod;  // changed
};

/// Every single thing of that kind left out, one at a time; where there are several, also all at once.
std::vector<PodChange> without_node_selector(const model::Pod& pod, const SymbolTable& symbols);
std::vector<PodChange> without_node_affinity(const model::Pod& pod, const SymbolTable& symbols);
std::vector<PodChange> without_host_ports(const model::Pod& pod, const SymbolTable& symbols);
std::vector<PodChange> without_pod_affinity(const model::Pod& pod, const SymbolTable& symbols, bool is_anti);
std::vector<PodChange> without_volumes(const model::Pod& pod);
std::vector<PodChange> without_claims(const model::Pod& pod);
/// Places of the constraints that keep pods from nodes.
std::vector<std::size_t> spread_constraints(const model::Pod& pod);
/// max_skew 0: without the constraint.
PodChange with_max_skew(const model::Pod& pod, std::size_t constraint, std::int32_t max_skew,
                        const SymbolTable& symbols);

PodChange with_tolerations(const model::Pod& pod, const std::vector<model::Taint>& taints, const SymbolTable& symbols);
/// What every taint is called: key=value:Effect.
std::string taint_text(const model::Taint& taint, const SymbolTable& symbols);

/// A request as it is to be, by its place in PodRequests::resources.
using RequestStep = std::pair<std::size_t, std::int64_t>;
PodChange with_requests(const model::Pod& pod, const std::vector<RequestStep>& steps, const SymbolTable& symbols);

}  // namespace berth::app
