// SPDX-License-Identifier: Apache-2.0
// NodePorts: a pod's host ports must be free on the node.
//
// Ports within one pod are not compared with each other: the kubelet's admission does that.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/nodeports.
#include <berth/plugin.hpp>

namespace {

class NodePorts {
 public:
  /// Left by pre_filter to say that it ran; the ports themselves are read from the pod.
  struct State {};

  static constexpr berth::Identity identity{.name = "NodePorts",
                                            .version = "1.0.0",
                                            .summary = "Keeps pods off nodes where a host port they ask for is taken.",
                                            .deps = BERTH_DEP_NODE_USAGE | BERTH_DEP_POD_SPEC};
  static constexpr berth::ReasonText reasons[] = {
      {"node(s) didn't have free ports for the requested pod ports", "HostPortTaken"}};
  static constexpr const char* services[] = {berth::Sets::id};
  static constexpr berth::Interest interests[] = {berth::hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                                  berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit NodePorts(berth::Setup& setup) : sets_(setup.service<berth::Sets>()), used_(setup.port_set()) {
    setup.pod_fields(BERTH_POD_PORTS);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    if (cycle.pod().host_ports().empty()) return berth::Verdict::skip();
    out.make();
    return berth::Verdict::ok();
  }

  /// Nodes share few distinct lists of used ports, so each list is compared once per 64 nodes.
  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    if (cycle.state<State>() == nullptr) {
      throw berth::Failure("reading \"PreFilterNodePorts\" from cycleState: not found");
    }
    const auto wanted = cycle.pod().host_ports();
    berth::SetMemo<bool> taken;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      each_distinct(nodes.word(w)[used_], nodes.open(w), [&](berth::Id set, berth::Mask rows) {
        const bool conflict =
            taken.get(set, [&](std::uint32_t s) { return berth::any_port_conflict(wanted, sets_.ports(s)); });
        if (conflict) nodes.reject(w, rows, berth::unschedulable(1));
      });
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const auto gone = event.old_pod();
    if (!gone) return true;
    // A pod that never had a node freed nothing.
    if (gone->node_name() == 0 && gone->nominated_node() == 0) return false;
    return berth::any_port_conflict(waiting.host_ports(), gone->host_ports());
  }

 private:
  berth::Sets sets_;
  berth::IdColumn used_;
};

}  // namespace

BERTH_PLUGIN(NodePorts)
