// SPDX-License-Identifier: Apache-2.0
// VolumeBinding: a pod fits where its claims have, find or get a volume; they are bound before the pod is.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumebinding.
#include "binding_policy.hpp"

namespace {

using namespace volume_binding;

std::string annotation(const berth_object_v1& csi_node, std::string_view key) {
  const storage::Pairs all = storage::pairs(storage::json(csi_node, storage::csi_node_field::annotations));
  const std::string* value = storage::find(all, key);
  return value == nullptr ? std::string() : *value;
}

class VolumeBinding : public BindingPolicy {
 public:
  static constexpr berth::Identity identity{
      .name = "VolumeBinding",
      .version = "1.0.0",
      .summary = "Places pods where their claims have, find or get a volume, and binds these first.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_POD_IDENTITY | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS,
      .filter_flags = BERTH_FILTER_RECORDS,
      .prepare_flags = BERTH_PREPARE_SCORE_WITHOUT_NODES};
  static constexpr const char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "bindTimeoutSeconds": {
        "type": "integer", "default": 600, "minimum": 0,
        "errorMessage": "invalid BindTimeoutSeconds, should not be a negative value",
        "description": "Seconds to wait for the claims of a pod to be bound."
      },
      "shape": {
        "not": {},
        "errorMessage": "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        "description": "Only with the feature gate StorageCapacityScoring, which is off."
      }
    }
  })";
  static constexpr berth::ReasonText reasons[] = {
      {"node(s) didn't match PersistentVolume's node affinity", "VolumeNodeAffinityConflict"},
      {"node(s) didn't find available persistent volumes to bind", "VolumeBindingConflict"},
      {"node(s) did not have enough free storage", "NotEnoughSpace"},
      {"node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "VolumeMissing"}};
  static constexpr const char* watches[] = {
      "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",    "storage.k8s.io/v1/storageclasses",
      "storage.k8s.io/v1/csinodes",     "storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1/csistoragecapacities"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_STORAGE_CLASS, k_any_change),
      berth::hinted(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, k_any_change),
      berth::always(BERTH_KIND_PERSISTENT_VOLUME, k_any_change),
      berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL),
      berth::hinted(BERTH_KIND_CSI_NODE, k_any_change),
      berth::hinted(BERTH_KIND_CSI_DRIVER, BERTH_ACTION_UPDATE),
      berth::hinted(BERTH_KIND_CSI_STORAGE_CAPACITY, k_any_change)};

  explicit VolumeBinding(berth::Setup& setup) : BindingPolicy(setup, {}, reasons) {}

  // Sizes of volumes and capacities are compared only where upstream's gate StorageCapacityScoring is on.
  berth::Verdict pre_score(const berth::Cycle&, berth::PreScore<State>&) const { return berth::Verdict::skip(); }
  std::int64_t score_each(const berth::Cycle&, berth::Row) const { return 0; }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const berth_object_v1* now = event.new_object();
    const berth_object_v1* before = event.old_object();
    if (now == nullptr) return true;
    switch (event.kind()) {
      case BERTH_KIND_STORAGE_CLASS:
        return before == nullptr || storage::text(*before, storage::class_field::topologies) !=
                                        storage::text(*now, storage::class_field::topologies);
      case BERTH_KIND_PERSISTENT_VOLUME_CLAIM:
        return berth::view(now->ns) == intern().text(waiting.ns()) &&
               storage::names_claim(waiting, berth::view(now->name));
      case BERTH_KIND_CSI_NODE:
        return before == nullptr ||
               annotation(*before, storage::k_migrated_plugins) != annotation(*now, storage::k_migrated_plugins);
      case BERTH_KIND_CSI_DRIVER:
        return before != nullptr && storage::number(*before, 0) != 0 && storage::number(*now, 0) == 0 &&
               uses_driver(waiting, berth::view(now->name));
      case BERTH_KIND_CSI_STORAGE_CAPACITY: {
        if (before == nullptr) return true;
        const auto old_limit = capacity_limit(*before), limit = capacity_limit(*now);
        return limit && (!old_limit || *limit > *old_limit);
      }
      default:
        return true;
    }
  }

 private:
  /// True when the pod has an inline volume of that CSI driver.
  static bool uses_driver(berth::Pod pod, std::string_view driver) {
    for (const berth_volume_v1& volume : pod.volumes()) {
      if (volume.kind != BERTH_VOLUME_INLINE) continue;
      const berth::Json json = berth::Json::parse(berth::view(volume.source));
      if (json["csi"]["driver"].is_string() && json["csi"]["driver"].string("driver") == driver) return true;
    }
    return false;
  }
};

}  // namespace

BERTH_PLUGIN(VolumeBinding)
