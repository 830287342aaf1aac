// SPDX-License-Identifier: Apache-2.0
/// When may a pod that its hard constraints kept out be worth another try?
///
/// After a change of a pod that the constraints count, of the pod itself, or of a node that carries the topology keys.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread/plugin.go. [watch]
#pragma once
#include <berth/plugin.hpp>

#include "constraints.hpp"

#include <algorithm>

namespace berth::pod_topology_spread {

class SpreadHints {
 public:
  SpreadHints(Sets sets, IdColumn label_set, IdColumn taint_set)
      : sets_(sets), label_set_(label_set), taint_set_(taint_set) {}

  /// constraints: the waiting pod's hard ones.
  bool after_pod_event(const Event& event, Pod waiting, const std::vector<Constraint>& constraints) const {
    const auto before = event.old_pod();
    const auto after = event.new_pod();
    if ((after && !involved(*after, waiting)) || (before && !involved(*before, waiting))) return false;
    const auto counts = [&](const Constraint& each, Pod pod) { return each.selector.matches(pod.labels()); };
    if (!before || !after) {
      const Pod pod = after ? *after : *before;
      return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return counts(c, pod); });
    }
    if (after->uid() == waiting.uid() && !same_tolerations(*before, *after) &&
        std::any_of(constraints.begin(), constraints.end(), [](const Constraint& c) { return c.honor_taints; }))
      return true;
    return std::any_of(constraints.begin(), constraints.end(),
                       [&](const Constraint& c) { return counts(c, *before) != counts(c, *after); });
  }

  bool after_node_event(const Event& event, const std::vector<Constraint>& constraints) const {
    const auto before = event.old_node();
    const auto after = event.new_node();
    const bool was_in = before && has_all_keys(*before, constraints);
    const bool is_in = after && has_all_keys(*after, constraints);
    if (!before || !after) return was_in || is_in;
    if (was_in != is_in) return true;
    if (!is_in) return false;
    if ((*before)[taint_set_] != (*after)[taint_set_]) return true;
    return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
      return label(*before, c.topology_key) != label(*after, c.topology_key);
    });
  }

 private:
  static bool involved(Pod other, Pod waiting) {
    if (other.uid() == waiting.uid()) return true;
    return (other.node_name() != 0 || other.nominated_node() != 0) && other.ns() == waiting.ns();
  }
  static bool same_tolerations(Pod a, Pod b) {
    const auto x = a.tolerations();
    const auto y = b.tolerations();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Toleration& s, const Toleration& t) {
      return s.key == t.key && s.value == t.value && s.op == t.op && s.effect == t.effect && s.seconds == t.seconds;
    });
  }
  Id label(Row node, Id key) const { return find_label(sets_.labels(node[label_set_]), key); }
  bool has_all_keys(Row node, const std::vector<Constraint>& constraints) const {
    return std::all_of(constraints.begin(), constraints.end(),
                       [&](const Constraint& c) { return label(node, c.topology_key) != 0; });
  }

  Sets sets_;
  IdColumn label_set_;
  IdColumn taint_set_;
};

}  // namespace berth::pod_topology_spread
