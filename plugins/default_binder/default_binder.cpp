// SPDX-License-Identifier: Apache-2.0
// DefaultBinder: writes the Binding of a pod to its node.
//
// The write is the host's; the call ends when the API server has answered, and no thread waits for it.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/defaultbinder.
#include <berth/plugin.hpp>

namespace {

class DefaultBinder {
 public:
  static constexpr berth::Identity identity{.name = "DefaultBinder",
                                            .version = "1.0.0",
                                            .summary = "Binds pods to their nodes through the API server.",
                                            .deps = BERTH_DEP_POD_IDENTITY};
  static constexpr const char* services[] = {berth::Intern::id, berth::Writes::id};
  static constexpr const char* rbac[] = {"create core/pods/binding"};
  /// Rejects nothing, so no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit DefaultBinder(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()), writes_(setup.service<berth::Writes>()) {
    setup.pod_fields(BERTH_POD_IDENTITY | BERTH_POD_NAMESPACE);
  }

  berth::Verdict bind(const berth::Cycle& cycle, berth::BindCall call) const {
    const berth::Pod pod = cycle.pod();
    switch (writes_.bind(pod, intern_.text(pod.ns()), call.node_name(), &bound, call.raw())) {
      case BERTH_OK:
        return berth::Verdict::async();
      case BERTH_DENIED:
        return berth::Verdict::error("the host does not let this plugin create bindings");
      default:
        return berth::Verdict::error("the host did not accept the binding");
    }
  }

 private:
  static void bound(void* call, berth_code code, berth_str text) {
    berth::BindCall(static_cast<berth_bind_call_v1*>(call))
        .complete(code == BERTH_OK ? static_cast<berth_code>(BERTH_OK) : static_cast<berth_code>(BERTH_ERROR),
                  berth::view(text));
  }

  berth::Intern intern_;
  berth::Writes writes_;
};

}  // namespace

BERTH_PLUGIN(DefaultBinder)
