// SPDX-License-Identifier: Apache-2.0
// DynamicResources: devices that pods claim. What pods without claims see of it is here; a pod with claims stays
// pending.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
#include <berth/plugin.hpp>

#include <array>

namespace {

class DynamicResources {
 public:
  /// That there was a pre-filter. Without one every later point fails, as upstream.
  struct State {};

  static constexpr berth::Identity identity{
      .name = "DynamicResources",
      .version = "0.1.0",
      .summary = "Keeps pods that claim devices pending: devices are not allocated yet.",
      .deps = BERTH_DEP_POD_SPEC};
  static constexpr const char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "filterTimeout": {
        "type": "string", "format": "go-duration", "default": "10s", "formatMinimum": "0s",
        "errorMessage": "must be zero or positive",
        "description": "Longest time that one filter call may take; 0 is no limit."
      },
      "bindingTimeout": {
        "type": "string", "format": "go-duration", "default": "600s", "formatMinimum": "1s",
        "errorMessage": "must be at least 1 second",
        "description": "Longest time to wait for the binding conditions of a device."
      }
    }
  })";
  static constexpr berth::ReasonText reasons[] = {
      {"resource claims of pods are not supported yet", "ResourceClaimsUnsupported"},
      {"no new claims to deallocate", "NothingToDeallocate"}};
  /// Nothing that happens makes a pod with claims schedulable.
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit DynamicResources(berth::Setup& setup) { setup.pod_fields(BERTH_POD_RESOURCE_CLAIMS); }

  berth::Verdict pre_enqueue(const berth::QueuedPod&) const { return berth::Verdict::ok(); }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) const {
    out.make();
    if (!cycle.pod().resource_claims().empty()) return berth::Verdict::unresolvable(berth::Reason{1});
    return berth::Verdict::skip();
  }

  berth::Mask filter(const berth::Cycle& cycle, berth::Rows) const {
    need_state(cycle);
    return berth::Mask::all();
  }

  berth::Verdict post_filter(const berth::Cycle& cycle, berth::PostFilter&) const {
    if (cycle.state<State>() == nullptr) return berth::Verdict::error("not found");
    return berth::Verdict::unschedulable(berth::Reason{2});
  }

  void score(const berth::Cycle& cycle, berth::ScoreBlock& block) const {
    need_state(cycle);
    std::fill_n(block.scores(), block.rows(), 0);
  }

  berth::Verdict reserve(const berth::Cycle& cycle, berth::Slot) const {
    return cycle.state<State>() == nullptr ? berth::Verdict::error("not found") : berth::Verdict::ok();
  }
  void unreserve(const berth::Cycle&, berth::Slot) const {}

  berth::Verdict pre_bind_check(const berth::Cycle& cycle, berth::Slot, berth::PreBindFlags&) const {
    return cycle.state<State>() == nullptr ? berth::Verdict::error("not found") : berth::Verdict::skip();
  }
  berth::Verdict pre_bind(const berth::Cycle&, berth::BindCall) const { return berth::Verdict::ok(); }

 private:
  static void need_state(const berth::Cycle& cycle) {
    if (cycle.state<State>() == nullptr) throw berth::Failure("not found");
  }
};

}  // namespace

BERTH_PLUGIN(DynamicResources)
