// SPDX-License-Identifier: Apache-2.0
/// The four rules of GeneralPredicates, each by itself: what they find on the 64 rows of a word.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go.
#pragma once
#include <berth/plugin.hpp>

#include "../../node_affinity/label_rows.hpp"
#include "../findings.hpp"
#include "../v1_16_args.hpp"
#include "v1_16_sums.hpp"

namespace berth::legacy {

inline constexpr char k_fit_args[] =
    BERTH_LEGACY_ARGS(BERTH_LEGACY_NAMES("ignoredResources", "Extended resources that are not checked."));

inline constexpr std::uint32_t k_fit_pod_events = BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_POD_SCALE_DOWN;

/// Room for one more pod and for what it asks for.
///
/// Once anything is asked for, cpu, memory and ephemeral storage are compared, whether they are asked for or not; so a
/// node that is short of one of them takes no pod with a request. A scalar is compared even at a request of 0.
class FitsResources {
 public:
  /// One comparison: the pod's resource `index`, and why its absence matters.
  struct Demand {
    std::uint32_t index = 0;
    std::int64_t amount = 0;
    std::string text;
  };

  FitsResources(Setup& setup, const Json& args)
      : ignored_(read_names(args, "ignoredResources")),
        pods_(setup.pods()),
        allowed_(setup.allocatable("pods")),
        free_(setup.pod_free()),
        intern_(setup.service<Intern>()) {
    setup.pod_fields(BERTH_POD_REQUESTS | BERTH_POD_CONTAINERS);
  }

  /// Once per block.
  std::vector<Demand> demands(Pod pod) const {
    std::vector<Demand> demands;
    bool asks = false;
    const auto resources = pod.resources();
    for (std::uint32_t i = 0; i < resources.size(); ++i) {
      const berth_resource_v1& each = resources[i];
      const bool scalar = (each.flags & BERTH_RESOURCE_SCALAR) != 0;
      if (i >= k_native_count && !scalar) continue;
      // Sums of that time round up more often, and know nothing of sidecars and of requests for the pod as a whole.
      const std::int64_t amount = std::max(each.request, request_of(pod, each.name));
      asks = asks || scalar || amount != 0;
      const std::string_view name = intern_.text(each.name);
      if ((each.flags & BERTH_RESOURCE_EXTENDED) != 0 &&
          std::find(ignored_.begin(), ignored_.end(), name) != ignored_.end())
        continue;
      demands.push_back({i, amount, "Insufficient " + std::string(name)});
    }
    if (!asks) demands.clear();
    return demands;
  }

  void find(const std::vector<Demand>& demands, const FilterBlock& block, std::uint32_t w,
            std::vector<Finding>& findings) const {
    const Rows rows = block.word(w);
    findings.push_back({rows[allowed_] <= rows[pods_], k_pods_text});
    for (const Demand& demand : demands) {
      const std::int64_t* free = block[free_][demand.index] + std::size_t{64} * w;
      findings.push_back({Lane<std::int64_t>(free) < demand.amount, demand.text});
    }
  }

 private:
  static constexpr std::uint32_t k_native_count = 3;  // cpu, memory and ephemeral-storage stand first, always
  static constexpr std::string_view k_pods_text = "Insufficient pods";

  std::vector<std::string> ignored_;
  IntColumn pods_;
  IntColumn allowed_;
  PodColumns free_;
  Intern intern_;
};

/// spec.nodeName.
class FitsName {
 public:
  static constexpr std::string_view k_text = "node(s) didn't match the requested hostname";

  explicit FitsName(Setup& setup) : name_(setup.name()) { setup.pod_fields(BERTH_POD_PLACEMENT); }
  Finding find(Pod pod, const FilterBlock& block, std::uint32_t w) const {
    const Id wanted = pod.node_name();
    return {wanted != 0 && block.word(w)[name_] != wanted, k_text, true};
  }

 private:
  IdColumn name_;
};

/// Host ports, each list of ports in use looked at once per block. Those of sidecars count, which then did not exist.
class FitsPorts {
 public:
  static constexpr std::string_view k_text = "node(s) didn't have free ports for the requested pod ports";
  using Memo = SetMemo<bool>;

  explicit FitsPorts(Setup& setup) : sets_(setup.service<Sets>()), used_(setup.port_set()) {
    setup.pod_fields(BERTH_POD_PORTS);
  }
  Finding find(Pod pod, const FilterBlock& block, std::uint32_t w, Memo& taken) const {
    const auto wanted = pod.host_ports();
    Mask conflicts;
    if (!wanted.empty()) {
      each_distinct(block.word(w)[used_], block.open(w), [&](Id set, Mask rows) {
        if (taken.get(set, [&](std::uint32_t s) { return any_port_conflict(wanted, sets_.ports(s)); }))
          conflicts |= rows;
      });
    }
    return {conflicts, k_text, false};
  }

 private:
  Sets sets_;
  IdColumn used_;
};

/// nodeSelector and required node affinity of the pod.
class FitsSelector {
 public:
  static constexpr std::string_view k_text = "node(s) didn't match node selector";

  explicit FitsSelector(Setup& setup)
      : matcher_(setup.service<Intern>()),
        sets_(setup.service<Sets>()),
        labels_(setup.label_set()),
        name_(setup.name()) {
    setup.pod_fields(BERTH_POD_NODE_SELECTION);
  }
  Finding find(Pod pod, const FilterBlock& block, std::uint32_t w) const {
    const berth_node_selection_v1& selection = pod.node_selection();
    node_affinity::LabelRows rows(block.word(w), block.open(w), sets_, labels_, name_);
    Mask matching = rows.wanted();
    for (const Label& pair : span_of(selection.selector, selection.selector_count))
      if (matching.any()) matching &= rows.values(pair.key, nullptr) == pair.value;
    if (selection.has_required != 0 && matching.any()) {
      node_affinity::ColumnCursor no_columns({});
      matching &=
          node_affinity::matches_any(span_of(selection.required, selection.required_count), rows, no_columns, matcher_);
    }
    return {rows.wanted() && !matching, k_text, true};
  }

 private:
  NodeMatcher matcher_;
  Sets sets_;
  IdColumn labels_;
  IdColumn name_;
};

}  // namespace berth::legacy
