// SPDX-License-Identifier: Apache-2.0
// NodeUnschedulable: keeps pods off cordoned nodes, unless they tolerate the taint that stands for cordoning.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/nodeunschedulable.
#include <berth/plugin.hpp>

namespace {

class NodeUnschedulable {
 public:
  static constexpr berth::Identity identity{.name = "NodeUnschedulable",
                                            .version = "1.0.0",
                                            .summary = "Keeps pods off nodes that are marked unschedulable.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC};
  static constexpr berth::ReasonText reasons[] = {{"node(s) were unschedulable", "Unschedulable"}};
  static constexpr berth::Rejection rejection = berth::unresolvable(1);
  static constexpr const char* services[] = {berth::Intern::id};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT),
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_TOLERATION)};

  explicit NodeUnschedulable(berth::Setup& setup)
      : unschedulable_(setup.unschedulable()),
        taint_{setup.service<berth::Intern>()("node.kubernetes.io/unschedulable"), BERTH_ID_EMPTY,
               BERTH_EFFECT_NO_SCHEDULE, 0} {
    setup.pod_fields(BERTH_POD_TOLERATIONS);
  }

  /// The node's own taints are not asked: the flag and the taint are set by different writers at different times.
  berth::Mask filter(const berth::Cycle& cycle, berth::Rows nodes) const {
    return !nodes[unschedulable_] || berth::tolerated(taint_, cycle.pod().tolerations());
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    if (const auto pod = event.new_pod()) {
      return pod->uid() == waiting.uid() && berth::tolerated(taint_, pod->tolerations());
    }
    const auto before = event.old_node();
    const auto after = event.new_node();
    if (!after || (*after)[unschedulable_]) return false;
    return !before || (*before)[unschedulable_];
  }

 private:
  berth::BitColumn unschedulable_;
  berth::Taint taint_;
};

}  // namespace

BERTH_PLUGIN(NodeUnschedulable)
