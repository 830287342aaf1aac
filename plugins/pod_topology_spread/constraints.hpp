// SPDX-License-Identifier: Apache-2.0
/// The constraints of one pod for one action, from its spec or from the profile's defaults, in the form that filter,
/// score and hints work with. Source: kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread/common.go.
#pragma once
#include <berth/select.hpp>

#include <memory>
#include <string>
#include <vector>

namespace berth::pod_topology_spread {

/// A selector that owns its requirements: AND of them; none selects everything.
class OwnedSelector {
 public:
  /// Takes a copy. Requires: not invalid.
  static OwnedSelector copy_of(const Selector& selector) {
    OwnedSelector copy;
    copy.nothing_ = selector.kind != BERTH_SELECTOR_MATCH;
    for (const Requirement& each : span_of(selector.requirements, selector.requirement_count))
      copy.add(each.key, each.op, span_of(each.values, each.value_count));
    return copy;
  }

  void add(Id key, std::uint32_t op, std::span<const Id> values) {
    requirements_.push_back({key, op, std::vector<Id>(values.begin(), values.end())});
  }
  void add_equals(Id key, Id value) { add(key, BERTH_OP_IN, std::span<const Id>(&value, 1)); }

  void append(const OwnedSelector& other) {
    requirements_.insert(requirements_.end(), other.requirements_.begin(), other.requirements_.end());
  }

  friend bool operator==(const OwnedSelector&, const OwnedSelector&) = default;
  bool selects_nothing() const noexcept { return nothing_; }
  bool selects_everything() const noexcept { return !nothing_ && requirements_.empty(); }

  bool matches(std::span<const Label> labels) const noexcept {
    if (nothing_) return false;
    for (const Owned& each : requirements_) {
      const Id value = find_label(labels, each.key);
      const auto listed = [&] { return std::find(each.values.begin(), each.values.end(), value) != each.values.end(); };
      bool met = false;
      switch (each.op) {
        case BERTH_OP_IN:
          met = value != 0 && listed();
          break;
        case BERTH_OP_NOT_IN:
          met = value == 0 || !listed();
          break;
        case BERTH_OP_EXISTS:
          met = value != 0;
          break;
        case BERTH_OP_DOES_NOT_EXIST:
          met = value == 0;
          break;
        default:
          break;
      }
      if (!met) return false;
    }
    return true;
  }

 private:
  struct Owned {
    Id key;
    std::uint32_t op;
    std::vector<Id> values;
    friend bool operator==(const Owned&, const Owned&) = default;
  };
  bool nothing_ = false;
  std::vector<Owned> requirements_;
};

struct Constraint {
  Id topology_key = BERTH_ID_EMPTY;
  std::int32_t max_skew = 1;
  std::int32_t min_domains = 1;
  std::uint32_t action = BERTH_SPREAD_OTHER;
  bool honor_affinity = true;
  bool honor_taints = false;
  OwnedSelector selector;
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

/// The pod's own constraints of that action. Label keys to match become requirements in front of the selector's own; a
/// selector that is absent stays so. Throws Failure with upstream's words for a selector that does not parse.
inline std::vector<Constraint> constraints_of(Pod pod, std::uint32_t action) {
  std::vector<Constraint> constraints;
  for (const berth_spread_v1& each : pod.spread()) {
    if (each.when_unsatisfiable != action) continue;
    if (each.selector.kind == BERTH_SELECTOR_INVALID) throw Failure(std::string(view(each.selector.error)));
    Constraint constraint;
    constraint.topology_key = each.topology_key;
    constraint.max_skew = each.max_skew;
    constraint.min_domains = each.min_domains;
    constraint.action = action;
    constraint.honor_affinity = each.node_affinity_policy == BERTH_POLICY_HONOR;
    constraint.honor_taints = each.node_taints_policy == BERTH_POLICY_HONOR;
    constraint.selector = OwnedSelector::copy_of(each.selector);
    if (!constraint.selector.selects_nothing()) {
      for (const Id key : span_of(each.match_label_keys, each.match_label_key_count)) {
        const Id value = find_label(pod.labels(), key);
        if (value != 0) constraint.selector.add_equals(key, value);
      }
    }
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

}  // namespace berth::pod_topology_spread
