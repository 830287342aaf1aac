// SPDX-License-Identifier: Apache-2.0
/// When may a pod that required terms kept out be worth another try?
///
/// Terms are taken as written: namespace selectors are tried against no labels. A list that does not parse queues the
/// pod. Source: kubernetes v1.36 pkg/scheduler/framework/plugins/interpodaffinity/plugin.go. [watch]
#pragma once
#include <berth/plugin.hpp>

#include "terms.hpp"

namespace berth::inter_pod_affinity {

class AffinityHints {
 public:
  AffinityHints(Sets sets, IdColumn label_set) : sets_(sets), label_set_(label_set) {}

  bool after_pod_event(const Event& event, Pod waiting) const {
    const auto before = event.old_pod();
    const auto after = event.new_pod();
    if (before && after && before->uid() == waiting.uid()) return true;
    if ((after && !has_place(*after)) || (before && !has_place(*before))) return false;
    const Terms affinity = required(waiting.affinity());
    const Terms anti = anti_required(waiting.affinity());
    if (first_invalid(affinity) != nullptr || first_invalid(anti) != nullptr) return true;
    if (before && after) {
      return (!all_mean_as_written(affinity, *before) && all_mean_as_written(affinity, *after)) ||
             (all_mean_as_written(anti, *before) && !all_mean_as_written(anti, *after));
    }
    if (after) return all_mean_as_written(affinity, *after);
    if (!before || all_mean_as_written(anti, *before)) return true;
    const Terms others = anti_required(before->affinity());
    return first_invalid(others) != nullptr || all_mean_as_written(others, waiting);
  }

  bool after_node_event(const Event& event, Pod waiting) const {
    const auto before = event.old_node();
    const auto after = event.new_node();
    if (!after) return false;
    const Terms affinity = required(waiting.affinity());
    const Terms anti = anti_required(waiting.affinity());
    if (first_invalid(affinity) != nullptr || first_invalid(anti) != nullptr) return true;
    const auto value = [&](const std::optional<Row>& node, Id key) {
      return node ? find_label(sets_.labels((*node)[label_set_]), key) : Id{0};
    };
    for (const Term& term : affinity) {
      const Id now = value(after, term.topology_key);
      if (now != 0 && now != value(before, term.topology_key)) return true;
    }
    if (!before) return !anti.empty();
    return std::any_of(anti.begin(), anti.end(), [&](const Term& term) {
      const Id was = value(before, term.topology_key);
      return was != 0 && was != value(after, term.topology_key);
    });
  }

 private:
  static bool has_place(Pod pod) noexcept { return pod.node_name() != 0 || pod.nominated_node() != 0; }

  Sets sets_;
  IdColumn label_set_;
};

}  // namespace berth::inter_pod_affinity
