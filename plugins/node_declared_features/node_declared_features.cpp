// SPDX-License-Identifier: Apache-2.0
// NodeDeclaredFeatures: a pod that needs a kubelet feature fits on nodes that declare it.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/nodedeclaredfeatures,
// component-helpers/nodedeclaredfeatures.
#include <berth/plugin.hpp>

namespace {

/// The features that this release knows, in ascending order; only two of them are ever required.
constexpr std::string_view k_known[] = {
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
};
/// Bit i stands for k_known[i].
using Features = std::uint32_t;
constexpr Features k_restart_all = 1u << 3;
constexpr Features k_host_network_user_namespaces = 1u << 4;

Features required_by(berth::Pod pod) {
  constexpr std::uint32_t k_both = BERTH_SPEC_HOST_NETWORK | BERTH_SPEC_HOST_USERS_FALSE;
  Features required = 0;
  if ((pod.spec_flags() & BERTH_SPEC_RESTARTS_ALL) != 0) required |= k_restart_all;
  if ((pod.spec_flags() & k_both) == k_both) required |= k_host_network_user_namespaces;
  return required;
}

class NodeDeclaredFeatures {
 public:
  struct State {
    Features required;
  };

  static constexpr berth::Identity identity{.name = "NodeDeclaredFeatures",
                                            .version = "1.0.0",
                                            .summary = "Keeps pods off nodes that do not declare a feature they need.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC};
  static constexpr berth::ReasonText reasons[] = {
      {"node(s) didn't match Pod's required features", "DeclaredFeaturesMismatch"}};
  static constexpr const char* services[] = {berth::Intern::id, berth::Sets::id};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE),
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_UPDATE)};

  explicit NodeDeclaredFeatures(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()), sets_(setup.service<berth::Sets>()), features_(setup.feature_set()) {
    setup.pod_fields(BERTH_POD_SPEC_FLAGS);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    const Features required = required_by(cycle.pod());
    if (required == 0) return berth::Verdict::skip();
    out.make(State{required});
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) {
      throw berth::Failure("error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found");
    }
    berth::SetMemo<Features> declared;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      each_distinct(nodes.word(w)[features_], nodes.open(w), [&](berth::Id set, berth::Mask rows) {
        const Features has = declared.get(set, [&](std::uint32_t s) { return declared_in(s); });
        if ((state->required & ~has) != 0) nodes.reject(w, rows, berth::unresolvable(1));
      });
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    if (const auto after = event.new_node()) {
      const auto before = event.old_node();
      return !before || (*before)[features_] != (*after)[features_];
    }
    const auto before = event.old_pod();
    const auto after = event.new_pod();
    return before && after && after->uid() == waiting.uid() && required_by(*before) != required_by(*after);
  }

 private:
  /// One forward pass over both lists, as upstream reads them. The kubelet writes the list sorted; in an unsorted one a
  /// known name behind a larger name is missed there, and so here.
  Features declared_in(std::uint32_t set) const {
    Features declared = 0;
    std::size_t known = 0;
    for (const berth::Id id : sets_.features(set)) {
      const std::string_view name = intern_.text(id);
      while (known < std::size(k_known) && k_known[known] < name) ++known;
      if (known < std::size(k_known) && k_known[known] == name) declared |= Features{1} << known++;
    }
    return declared;
  }

  berth::Intern intern_;
  berth::Sets sets_;
  berth::IdColumn features_;
};

}  // namespace

BERTH_PLUGIN(NodeDeclaredFeatures)
