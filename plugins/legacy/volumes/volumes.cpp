// SPDX-License-Identifier: Apache-2.0
// Predicates about disks that bear one user, and about zones of volumes.
// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go; v1.18
// pkg/scheduler/framework/plugins/volumezone.
#include <berth/plugin.hpp>

#include "../../shared/storage/in_tree.hpp"
#include "../../shared/storage/zone_labels.hpp"
#include "../../volume_restrictions/disks.hpp"
#include "../v1_16_args.hpp"

namespace berth::legacy {
namespace {

constexpr char k_zone_args[] =
    BERTH_LEGACY_ARGS(R"("gaLabels": {"type": "boolean", "default": false, "description": )"
                      R"("Look at topology.kubernetes.io/zone and /region too, as from v1.18 on."}, )");

/// Inline volumes that bear one user per node.
class NoDiskConflict {
 public:
  static constexpr Identity identity =
      identity_of("NoDiskConflict", "Keeps pods apart that use a disk which bears one user at a time.",
                  BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{"node(s) had no available disk", "DiskConflict"}};
  static constexpr const char* services[] = {Intern::id, Sets::id};
  static constexpr Interest interests[] = {always(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                           always(BERTH_KIND_NODE, BERTH_ACTION_ADD)};

  explicit NoDiskConflict(Setup& setup)
      : intern_(setup.service<Intern>()), sets_(setup.service<Sets>()), volumes_(setup.volume_set()) {
    setup.pod_fields(BERTH_POD_STORAGE);
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    std::vector<disks::Disk> wanted;
    for (const berth_volume_v1& volume : cycle.pod().volumes())
      if (volume.kind == BERTH_VOLUME_INLINE) wanted.push_back(disks::read_disk(view(volume.source)));
    std::erase_if(wanted, [](const disks::Disk& disk) { return disk.kind == disks::Disk::Kind::none; });
    if (wanted.empty()) return;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      each_distinct(block.word(w)[volumes_], block.open(w) && block.word(w)[volumes_] != 0u,
                    [&](std::uint32_t set, Mask rows) {
                      if (in_use(wanted, set)) block.reject(w, rows, unschedulable(1));
                    });
    }
  }

 private:
  bool in_use(const std::vector<disks::Disk>& wanted, std::uint32_t set) const {
    for (const NodeVolume& volume : sets_.volumes(set)) {
      if (volume.kind != BERTH_VOLUME_INLINE) continue;
      const disks::Disk used = disks::read_disk(intern_.text(volume.source));
      if (std::any_of(wanted.begin(), wanted.end(), [&](const disks::Disk& disk) { return conflict(disk, used); }))
        return true;
    }
    return false;
  }

  Intern intern_;
  Sets sets_;
  IdColumn volumes_;
};

/// A volume that carries zone or region labels is for nodes with the same; nodes without such labels are not asked.
/// What cannot be looked up ends the attempt, once a node gets as far as that volume.
class NoVolumeZoneConflict {
 public:
  static constexpr Identity identity =
      identity_of("NoVolumeZoneConflict", "Keeps pods in the zones and regions of their volumes.",
                  BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS);
  static constexpr const char* args_schema = k_zone_args;
  static constexpr ReasonText reasons[] = {{"node(s) had no available volume zone", "ZoneConflict"}};
  static constexpr const char* services[] = {Intern::id, Objects::id};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",
                                            "storage.k8s.io/v1/storageclasses"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr Interest interests[] = {always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL),
                                           always(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, k_any_change),
                                           always(BERTH_KIND_PERSISTENT_VOLUME, k_any_change),
                                           always(BERTH_KIND_STORAGE_CLASS, k_any_change)};

  explicit NoVolumeZoneConflict(Setup& setup)
      : intern_(setup.service<Intern>()),
        objects_(setup.service<Objects>()),
        claims_(objects_.watch(storage::k_claims, storage::k_claim_fields)),
        volumes_(objects_.watch(storage::k_volumes, storage::k_volume_fields)),
        classes_(objects_.watch(storage::k_classes, storage::k_class_fields)) {
    const bool general = setup.args()["gaLabels"].boolean_or("gaLabels", false);
    for (std::size_t i = 0; i < (general ? std::size(k_keys) : 2); ++i) labels_.push_back(setup.label(k_keys[i]));
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    std::vector<Mask> constrained(block.words());
    bool any = false;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      for (const IdColumn label : labels_) constrained[w] |= block.open(w) && block.word(w)[label] != 0u;
      any = any || constrained[w].any();
    }
    for (const berth_volume_v1& volume : cycle.pod().volumes()) {
      if (!any || volume.kind != BERTH_VOLUME_CLAIM) continue;
      const storage::Pairs labels = labels_of(intern_.text(cycle.pod().ns()), view(volume.source));
      any = false;
      for (std::uint32_t w = 0; w < block.words(); ++w) {
        const Mask conflicts = constrained[w] && elsewhere(labels, block.word(w), constrained[w]);
        block.reject(w, conflicts, unresolvable(1));
        constrained[w] &= !conflicts;
        any = any || constrained[w].any();
      }
    }
  }

 private:
  static constexpr std::string_view k_keys[] = {storage::k_beta_zone, storage::k_beta_region, storage::k_ga_zone,
                                                storage::k_ga_region};

  /// Labels of the claim's volume; none while it waits for its pod.
  storage::Pairs labels_of(std::string_view ns, std::string_view name) const {
    if (name.empty()) throw Failure("PersistentVolumeClaim had no name");
    std::string volume_name, class_name;
    if (!objects_.get(claims_, ns, name, [&](const berth_object_v1& object) {
          volume_name = storage::text(object, storage::claim_field::volume);
          if (volume_name.empty()) class_name = storage::read_claim(object).class_name;
        }))
      throw Failure(claim_not_found(name));
    if (volume_name.empty()) {
      if (!waits_for_pod(class_name)) throw Failure(claim_not_found(name));
      return {};
    }
    storage::Pairs labels;
    if (!objects_.get(volumes_, {}, volume_name, [&](const berth_object_v1& object) {
          labels = storage::pairs(storage::json(object, storage::volume_field::labels));
        }))
      throw Failure("PersistentVolume was not found: \"" + volume_name + "\"");
    return labels;
  }
  static std::string claim_not_found(std::string_view name) {
    return "PersistentVolumeClaim was not found: \"" + std::string(name) + "\"";
  }
  bool waits_for_pod(const std::string& class_name) const {
    bool waits = false;
    bool has_mode = true;
    if (class_name.empty()) return false;
    objects_.get(classes_, {}, class_name, [&](const berth_object_v1& object) {
      has_mode = storage::present(object, storage::class_field::binding_mode);
      waits = storage::text(object, storage::class_field::binding_mode) == "WaitForFirstConsumer";
    });
    if (!has_mode) throw Failure("VolumeBindingMode not set for StorageClass \"" + class_name + "\"");
    return waits;
  }

  /// Rows whose value of some label is not among the volume's. A node without the label has the value "".
  Mask elsewhere(const storage::Pairs& labels, const Rows& rows, Mask asked) const {
    Mask conflicts;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const std::string* label = storage::find(labels, k_keys[i]);
      if (label == nullptr) continue;
      const std::vector<std::string> zones = storage::zones_of(*label);
      if (zones.empty()) continue;
      each_distinct(rows[labels_[i]], asked, [&](Id value, Mask same) {
        if (std::find(zones.begin(), zones.end(), intern_.text(value)) == zones.end()) conflicts |= same;
      });
    }
    return conflicts;
  }

  Intern intern_;
  Objects objects_;
  std::uint32_t claims_, volumes_, classes_;
  std::vector<IdColumn> labels_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_volumes, berth::legacy::NoDiskConflict, berth::legacy::NoVolumeZoneConflict)
