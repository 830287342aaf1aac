// SPDX-License-Identifier: Apache-2.0
// CheckVolumeBinding: a pod fits where its claims have, find or get a volume; they are bound before the pod is.
//
// As the policy VolumeBinding of today, without a look at capacities; a claim that should have been bound by now ends
// the attempt. Source: kubernetes v1.16 pkg/scheduler/{algorithm/predicates,volumebinder}.
#include "../../volume_binding/binding_policy.hpp"
#include "../v1_16_args.hpp"

namespace berth::legacy {
namespace {

constexpr char k_binding_args[] =
    BERTH_LEGACY_ARGS(R"("bindTimeoutSeconds": {"type": "integer", "default": 600, "minimum": 0, )"
                      R"("description": "Seconds to wait for the claims of a pod to be bound."}, )");

class CheckVolumeBinding : public volume_binding::BindingPolicy {
 public:
  static constexpr Identity identity{
      .name = "CheckVolumeBinding",
      .version = "1.0.0",
      .summary = "Places pods where their claims have, find or get a volume, and binds these first.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_POD_IDENTITY | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS,
      .filter_flags = BERTH_FILTER_RECORDS};
  static constexpr const char* args_schema = k_binding_args;
  // By number of the conflict; the third does not occur. The fourth then had no words of its own.
  static constexpr ReasonText reasons[] = {
      {"node(s) had volume node affinity conflict", "VolumeNodeAffinityConflict"},
      {"node(s) didn't find available persistent volumes to bind", "VolumeBindingConflict"},
      {"node(s) did not have enough free storage", "NotEnoughSpace"},
      {"node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "VolumeMissing"}};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",
                                            "storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1/csinodes"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr Interest interests[] = {always(BERTH_KIND_STORAGE_CLASS, k_any_change),
                                           always(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, k_any_change),
                                           always(BERTH_KIND_PERSISTENT_VOLUME, k_any_change),
                                           always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL),
                                           always(BERTH_KIND_CSI_NODE, k_any_change)};

  explicit CheckVolumeBinding(Setup& setup)
      : BindingPolicy(setup, {.capacity = false, .immediate_is_error = true}, reasons) {}
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_volume_binding, berth::legacy::CheckVolumeBinding)
