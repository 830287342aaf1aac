// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_writer.hpp"

namespace berth::report {

/// One change, and the nodes on which the pod would then fit, as the policies said when they were asked again.
struct FitOption {
  std::string kind;    // "resources", "toleration", "nodeSelector", … : FitReport lists them
  std::string text;    // for people: "with 3.5 instead of 4 cpu"
  std::string change;  // for programs: a JSON object, by kind
  std::size_t nodes = 0;
  std::vector<std::string> on_nodes = {};  // the first of them, in list order
};

/// One node, and all that keeps a pod from it.
struct NodeFit {
  std::string node;
  bool is_feasible = false;          // nothing keeps it from there
  std::string plugin;                // that rejects the node first; empty: it was left out before nodes were looked at
  std::vector<std::string> reasons;  // its
  std::vector<FitOption> changes;    // all of them together make the pod fit there, and no fewer do
  std::string left;                  // what is still in the way with every change that is known; empty: nothing
};

/// What would make a pending pod fit, as of the cluster in which it is pending.
///
/// Kinds and their changes:
///   resources       requests[] {name, unit, from, to}: the most that fits, rounded down to a round amount where one fits
///   toleration      tolerations[] {key, value, effect}
///   nodeSelector    key, value; or all: true
///   nodeAffinity    term, expression (their places in the list); or all: true
///   topologySpread  constraint (its place), topologyKey, maxSkew {from, to}; or remove: true instead of maxSkew
///   hostPort        port, protocol, hostIP
///   podAffinity, podAntiAffinity    term (its place among the required), topologyKey
///   volume          name
///   resourceClaim   name
///   uncordon        node
///   removePod       pod, node, priority (lower than that of the pending one)
///   newNode         like: a node that has the same labels (its name aside), taints and size
struct FitReport {
  std::size_t fits_now = 0;         // nodes where it fits as it is: what keeps it waiting is no node then
  std::vector<FitOption> options;   // each is enough alone
  std::optional<NodeFit> together;  // where none is: the node that needs the fewest, as far as was looked
  std::optional<NodeFit> why_not;   // the node that was asked about
  std::string left;                 // where nothing helps: what one node still says with every change of the pod
  std::size_t asked = 0;            // so often all policies judged all nodes
  bool is_complete = true;          // false: the limit of that was reached
};

std::string fit_text(const FitReport& fit);
/// The same in one line for an event in that namespace: of `bytes_max` at most (64 or more), with as many options as there
/// is room for. Pods of other namespaces are not named, since who may read an event may not be allowed to read those.
std::string fit_line(const FitReport& fit, std::string_view ns, std::size_t bytes_max);
/// The member "fit" of an object that is open: fitsNow, options[], together, left, whyNot (left out when there are none), asked, complete.
void write_fit(text::JsonWriter& json, const FitReport& fit);

}  // namespace berth::report
