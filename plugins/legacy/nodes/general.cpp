// SPDX-License-Identifier: Apache-2.0
// GeneralPredicates and its four members under their own names.
#include "../resources/fit.hpp"

namespace berth::legacy {
namespace {

/// All four, in this order; a node hears of every one that fails.
class GeneralPredicates {
 public:
  static constexpr Identity identity =
      identity_of("GeneralPredicates",
                  "Checks requests, node name, host ports and node selector, and names all that fail.", k_usage_deps);
  static constexpr const char* args_schema = k_fit_args;
  static constexpr const char* services[] = {Intern::id, Sets::id, Reasons::id};
  static constexpr Interest interests[] = {
      always(BERTH_KIND_POD, k_fit_pod_events),
      always(BERTH_KIND_NODE,
             BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit GeneralPredicates(Setup& setup)
      : resources_(setup, setup.args()),
        name_(setup),
        ports_(setup),
        selector_(setup),
        reasons_(setup.service<Reasons>()) {}

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const Pod pod = cycle.pod();
    const auto demands = resources_.demands(pod);
    FitsPorts::Memo taken;
    std::vector<Finding> findings;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      findings.clear();
      resources_.find(demands, block, w, findings);
      findings.push_back(name_.find(pod, block, w));
      findings.push_back(ports_.find(pod, block, w, taken));
      findings.push_back(selector_.find(pod, block, w));
      reject_all(findings, w, block, reasons_);
    }
  }

 private:
  FitsResources resources_;
  FitsName name_;
  FitsPorts ports_;
  FitsSelector selector_;
  Reasons reasons_;
};

class PodFitsResources {
 public:
  static constexpr Identity identity =
      identity_of("PodFitsResources", "Checks requests against what is free on a node.", k_usage_deps);
  static constexpr const char* args_schema = k_fit_args;
  static constexpr const char* services[] = {Intern::id, Reasons::id};
  static constexpr Interest interests[] = {
      always(BERTH_KIND_POD, k_fit_pod_events),
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE)};

  explicit PodFitsResources(Setup& setup) : resources_(setup, setup.args()), reasons_(setup.service<Reasons>()) {}

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const auto demands = resources_.demands(cycle.pod());
    std::vector<Finding> findings;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      findings.clear();
      resources_.find(demands, block, w, findings);
      reject_all(findings, w, block, reasons_);
    }
  }

 private:
  FitsResources resources_;
  Reasons reasons_;
};

class HostName {
 public:
  static constexpr Identity identity =
      identity_of("HostName", "Keeps a pod that names its node off all others.", k_static_deps);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{FitsName::k_text.data(), "NodeNameMismatch"}};
  static constexpr Rejection rejection = unresolvable(1);
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit HostName(Setup& setup) : name_(setup) {}
  void filter(const Cycle& cycle, FilterBlock& block) const {
    for (std::uint32_t w = 0; w < block.words(); ++w)
      block.reject(w, name_.find(cycle.pod(), block, w).rows, rejection);
  }

 private:
  FitsName name_;
};

class PodFitsHostPorts {
 public:
  static constexpr Identity identity =
      identity_of("PodFitsHostPorts", "Keeps pods off nodes where a host port they ask for is taken.",
                  BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{FitsPorts::k_text.data(), "HostPortTaken"}};
  static constexpr const char* services[] = {Sets::id};
  static constexpr Interest interests[] = {always(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                           always(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit PodFitsHostPorts(Setup& setup) : ports_(setup) {}
  void filter(const Cycle& cycle, FilterBlock& block) const {
    FitsPorts::Memo taken;
    for (std::uint32_t w = 0; w < block.words(); ++w)
      if (block.open(w).any()) block.reject(w, ports_.find(cycle.pod(), block, w, taken).rows, unschedulable(1));
  }

 private:
  FitsPorts ports_;
};

/// The name of before v1.2, kept for old files.
class PodFitsPorts : public PodFitsHostPorts {
 public:
  static constexpr Identity identity =
      identity_of("PodFitsPorts", "PodFitsHostPorts under its oldest name.", BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE);
  using PodFitsHostPorts::PodFitsHostPorts;
};

class MatchNodeSelector {
 public:
  static constexpr Identity identity = identity_of(
      "MatchNodeSelector", "Keeps pods on the nodes that their node selector and affinity name.", k_static_deps);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{FitsSelector::k_text.data(), "NodeSelectorMismatch"}};
  static constexpr const char* services[] = {Intern::id, Sets::id};
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit MatchNodeSelector(Setup& setup) : selector_(setup) {}
  void filter(const Cycle& cycle, FilterBlock& block) const {
    for (std::uint32_t w = 0; w < block.words(); ++w)
      if (block.open(w).any()) block.reject(w, selector_.find(cycle.pod(), block, w).rows, unresolvable(1));
  }

 private:
  FitsSelector selector_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_general, berth::legacy::GeneralPredicates, berth::legacy::PodFitsResources,
                  berth::legacy::HostName, berth::legacy::PodFitsHostPorts, berth::legacy::PodFitsPorts,
                  berth::legacy::MatchNodeSelector)
