// SPDX-License-Identifier: Apache-2.0
/// HighCommPodFilter: pods that talk a lot to each other go to nodes with RDMA.
///
/// Assumes: a pod says it by a label, a node by a label. A label that no node carries does no harm: such pods wait.
/// Steps:   pods without the label are left alone. For the others a node passes whose label says "true".
///          Strict: every pod has to carry the label with the value "true", on every node.
#include <berth/plugin.hpp>

#include <string_view>

namespace {

constexpr std::string_view k_pod_label = "high-comm";
constexpr std::string_view k_node_label = "node.kubernetes.io/rdma-enabled";
constexpr std::string_view k_strict_node_label = "rdma";

class HighCommPodFilter {
 public:
  static constexpr berth::Identity identity{
      .name = "HighCommPodFilter",
      .version = "1.0.0",
      .summary = "Sends pods with the label high-comm to nodes with RDMA.",
      // The answer depends on the label of the pod, which is asked for below, and on labels of the node.
      .deps = BERTH_DEP_NODE_STATIC};

  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "strict": {"type": "boolean", "default": false,
                 "description": "Refuse pods without high-comm=true, and look for nodes with rdma=true."}
    }
  })";

  static constexpr berth::ReasonText reasons[] = {{"Node does not support RDMA", "NoRDMA"},
                                                  {"Pod does not have high-comm=true label", "NotHighComm"}};

  // A node that appears or gets another label is shown to filter again. A pod's own label concerns that pod alone.
  static constexpr berth::Interest interests[] = {
      berth::derived(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL),
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_LABEL)};

  explicit HighCommPodFilter(berth::Setup& setup)
      : strict_(setup.args()["strict"].boolean_or("strict", false)),
        node_label_(setup.label(strict_ ? k_strict_node_label : k_node_label)) {
    const auto intern = setup.service<berth::Intern>();
    pod_key_ = intern(k_pod_label);
    true_ = intern("true");
    setup.pod_label(k_pod_label);
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& block) const {
    const berth::Id value = label_of(cycle.pod());
    if (!strict_ && value == 0) return;
    // Evicting pods gives neither a node nor a pod a label.
    const bool wrong_pod = strict_ && value != true_;
    for (std::uint32_t word = 0; word < block.words(); ++word) {
      if (wrong_pod) {
        block.reject(word, berth::Mask::all(), berth::unresolvable(2));
      } else {
        block.reject(word, block.word(word)[node_label_] != true_, berth::unresolvable(1));
      }
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const auto changed = event.new_pod();
    return changed && changed->uid() == waiting.uid();
  }

 private:
  /// 0: the pod does not carry the label.
  berth::Id label_of(berth::Pod pod) const {
    for (const berth::Label& label : pod.labels())
      if (label.key == pod_key_) return label.value;
    return 0;
  }

  bool strict_;
  berth::IdColumn node_label_;
  berth::Id pod_key_ = 0;
  berth::Id true_ = 0;
};

}  // namespace

BERTH_PLUGIN(HighCommPodFilter)
