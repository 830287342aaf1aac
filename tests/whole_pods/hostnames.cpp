// SPDX-License-Identifier: Apache-2.0
// tests.example.com/Hostnames: a pod with spec.hostname goes to the node whose label says that name. Only the pod's
// JSON has that field.
#include <berth/plugin.hpp>

namespace {

class Hostnames {
 public:
  static constexpr berth::Identity identity{.name = "tests.example.com/Hostnames",
                                            .version = "1.0.0",
                                            .summary = "Sends pods to the node of their spec.hostname.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC};
  static constexpr berth::ReasonText reasons[] = {{"node(s) had another host name", "AnotherHost"},
                                                  {"the pod did not come whole", "NotWhole"}};
  static constexpr berth::Interest interests[] = {
      berth::derived(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit Hostnames(berth::Setup& setup)
      : host_(setup.label("example.com/host")), intern_(setup.service<berth::Intern>()) {
    setup.pod_fields(BERTH_POD_JSON);
  }

  std::optional<berth::Rejection> filter_each(const berth::Cycle& cycle, berth::Row node) const {
    if (cycle.pod().json().empty()) return berth::unresolvable(2);
    const berth::Json pod = berth::Json::parse(cycle.pod().json());
    if (pod["kind"].string("kind") != "Pod") return berth::unresolvable(2);
    const std::string wanted = pod["spec"]["hostname"].string_or("spec.hostname", "");
    if (wanted.empty() || (node[host_] != 0 && intern_.text(node[host_]) == wanted)) return std::nullopt;
    return berth::unresolvable(1);
  }

 private:
  berth::IdColumn host_;
  berth::Intern intern_;
};

}  // namespace

BERTH_PLUGIN(Hostnames)
