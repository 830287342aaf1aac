// SPDX-License-Identifier: Apache-2.0
// Predicates about the state of a node: its conditions, and whether it is cordoned.
// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go.
#include <berth/plugin.hpp>

#include "../findings.hpp"
#include "../resources/v1_16_sums.hpp"
#include "../v1_16_args.hpp"

namespace berth::legacy {
namespace {

/// Not ready, without network or cordoned: all that holds is named, and no toleration helps.
class CheckNodeCondition {
 public:
  static constexpr Identity identity =
      identity_of("CheckNodeCondition", "Keeps pods off nodes that are not ready, have no network or are cordoned.",
                  BERTH_DEP_NODE_STATIC);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{"node(s) were not ready", "NotReady"},
                                           {"node(s) had unavailable network", "NetworkUnavailable"},
                                           {"node(s) were unschedulable", "Unschedulable"}};
  static constexpr const char* services[] = {Intern::id, Reasons::id};
  static constexpr Interest interests[] = {
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_CONDITION | BERTH_ACTION_UPDATE_NODE_TAINT)};

  explicit CheckNodeCondition(Setup& setup)
      : ready_(setup.condition("Ready")),
        network_(setup.condition("NetworkUnavailable")),
        cordoned_(setup.unschedulable()),
        true_(setup.service<Intern>()("True")),
        false_(setup.service<Intern>()("False")),
        reasons_(setup.service<Reasons>()) {}

  void filter(const Cycle&, FilterBlock& block) const {
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      const Rows rows = block.word(w);
      const Finding findings[] = {{rows[ready_] != 0u && rows[ready_] != true_, reasons[0].text, true},
                                  {rows[network_] != 0u && rows[network_] != false_, reasons[1].text, true},
                                  {rows[cordoned_], reasons[2].text, true}};
      reject_all(findings, w, block, reasons_);
    }
  }

 private:
  IdColumn ready_;
  IdColumn network_;
  BitColumn cordoned_;
  Id true_;
  Id false_;
  Reasons reasons_;
};

/// One kind of pressure. Memory pressure concerns pods of the class BestEffort alone.
class Pressure {
 public:
  static constexpr Rejection rejection = unresolvable(1);
  static constexpr const char* args_schema = k_no_args;
  static constexpr const char* services[] = {Intern::id};
  static constexpr Interest interests[] = {
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_CONDITION)};

  Mask filter(const Cycle& cycle, Rows rows) const {
    if (best_effort_only_ && !is_best_effort(cycle.pod(), names_)) return Mask::all();
    return rows[condition_] != true_;
  }

 protected:
  Pressure(Setup& setup, std::string_view condition, bool best_effort_only)
      : condition_(setup.condition(condition)),
        true_(setup.service<Intern>()("True")),
        names_{setup.service<Intern>()("cpu"), setup.service<Intern>()("memory")},
        best_effort_only_(best_effort_only) {
    if (best_effort_only) setup.pod_fields(BERTH_POD_CONTAINERS);
  }

 private:
  IdColumn condition_;
  Id true_;
  ComputeNames names_;
  bool best_effort_only_;
};

class CheckNodeMemoryPressure : public Pressure {
 public:
  static constexpr Identity identity = identity_of(
      "CheckNodeMemoryPressure", "Keeps pods without requests off nodes that are short of memory.", k_static_deps);
  static constexpr ReasonText reasons[] = {{"node(s) had memory pressure", "MemoryPressure"}};
  explicit CheckNodeMemoryPressure(Setup& setup) : Pressure(setup, "MemoryPressure", true) {}
};

class CheckNodeDiskPressure : public Pressure {
 public:
  static constexpr Identity identity =
      identity_of("CheckNodeDiskPressure", "Keeps pods off nodes that are short of disk space.", k_static_deps);
  static constexpr ReasonText reasons[] = {{"node(s) had disk pressure", "DiskPressure"}};
  explicit CheckNodeDiskPressure(Setup& setup) : Pressure(setup, "DiskPressure", false) {}
};

class CheckNodePIDPressure : public Pressure {
 public:
  static constexpr Identity identity =
      identity_of("CheckNodePIDPressure", "Keeps pods off nodes that are short of process ids.", k_static_deps);
  static constexpr ReasonText reasons[] = {{"node(s) had pid pressure", "PIDPressure"}};
  explicit CheckNodePIDPressure(Setup& setup) : Pressure(setup, "PIDPressure", false) {}
};

/// As the policy NodeUnschedulable of today.
class CheckNodeUnschedulable {
 public:
  static constexpr Identity identity =
      identity_of("CheckNodeUnschedulable", "Keeps pods off cordoned nodes, unless they tolerate that.", k_static_deps);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{"node(s) were unschedulable", "Unschedulable"}};
  static constexpr Rejection rejection = unresolvable(1);
  static constexpr const char* services[] = {Intern::id};
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT),
                                           always(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_TOLERATION)};

  explicit CheckNodeUnschedulable(Setup& setup)
      : cordoned_(setup.unschedulable()),
        taint_{setup.service<Intern>()("node.kubernetes.io/unschedulable"), BERTH_ID_EMPTY, BERTH_EFFECT_NO_SCHEDULE,
               0} {
    setup.pod_fields(BERTH_POD_TOLERATIONS);
  }

  Mask filter(const Cycle& cycle, Rows rows) const {
    return !rows[cordoned_] || tolerated(taint_, cycle.pod().tolerations());
  }

 private:
  BitColumn cordoned_;
  Taint taint_;
};

/// Taints that keep pods away, in the words of then. `k_no_schedule`: NoSchedule counts too.
template <bool k_no_schedule>
class ToleratesTaints {
 public:
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{"node(s) had taints that the pod didn't tolerate", "UntoleratedTaint"}};
  static constexpr const char* services[] = {Sets::id};
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT),
                                           always(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_TOLERATION)};

  explicit ToleratesTaints(Setup& setup) : sets_(setup.service<Sets>()), taints_(setup.taint_set()) {
    setup.pod_fields(BERTH_POD_TOLERATIONS);
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const auto tolerations = cycle.pod().tolerations();
    SetMemo<bool> refused;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Mask tainted = block.open(w) && block.word(w)[taints_] != 0u;
      each_distinct(block.word(w)[taints_], tainted, [&](Id set, Mask rows) {
        if (refused.get(set, [&](std::uint32_t s) { return repels(s, tolerations); }))
          block.reject(w, rows, unresolvable(1));
      });
    }
  }

 private:
  bool repels(std::uint32_t set, std::span<const Toleration> tolerations) const {
    const auto taints = sets_.taints(set);
    return std::any_of(taints.begin(), taints.end(), [&](const Taint& taint) {
      const bool counts =
          taint.effect == BERTH_EFFECT_NO_EXECUTE || (k_no_schedule && taint.effect == BERTH_EFFECT_NO_SCHEDULE);
      return counts && !tolerated(taint, tolerations);
    });
  }

  Sets sets_;
  IdColumn taints_;
};

class PodToleratesNodeTaints : public ToleratesTaints<true> {
 public:
  static constexpr Identity identity =
      identity_of("PodToleratesNodeTaints", "Keeps pods off nodes whose taints they do not tolerate.", k_static_deps);
  using ToleratesTaints::ToleratesTaints;
};

class PodToleratesNodeNoExecuteTaints : public ToleratesTaints<false> {
 public:
  static constexpr Identity identity =
      identity_of("PodToleratesNodeNoExecuteTaints",
                  "Keeps pods off nodes whose NoExecute taints they do not tolerate.", k_static_deps);
  using ToleratesTaints::ToleratesTaints;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_conditions, berth::legacy::CheckNodeCondition, berth::legacy::CheckNodeMemoryPressure,
                  berth::legacy::CheckNodeDiskPressure, berth::legacy::CheckNodePIDPressure,
                  berth::legacy::CheckNodeUnschedulable, berth::legacy::PodToleratesNodeTaints,
                  berth::legacy::PodToleratesNodeNoExecuteTaints)
