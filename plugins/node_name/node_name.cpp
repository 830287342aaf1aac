// SPDX-License-Identifier: Apache-2.0
// NodeName: a pod that names its node fits there and nowhere else.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/nodename.
#include <berth/plugin.hpp>

namespace {

class NodeName {
 public:
  static constexpr berth::Identity identity{.name = "NodeName",
                                            .version = "1.0.0",
                                            .summary = "Keeps a pod that names its node off all others.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC};
  static constexpr berth::ReasonText reasons[] = {{"node(s) didn't match the requested node name", "NodeNameMismatch"}};
  static constexpr berth::Rejection rejection = berth::unresolvable(1);
  static constexpr berth::Interest interests[] = {berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit NodeName(berth::Setup& setup) : name_(setup.name()) { setup.pod_fields(BERTH_POD_PLACEMENT); }

  berth::Mask filter(const berth::Cycle& cycle, berth::Rows nodes) const {
    const berth::Id wanted = cycle.pod().node_name();
    return wanted == 0 || nodes[name_] == wanted;
  }

 private:
  berth::IdColumn name_;
};

}  // namespace

BERTH_PLUGIN(NodeName)
