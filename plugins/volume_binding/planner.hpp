// SPDX-License-Identifier: Apache-2.0
/// Makes plans. Threads: [cycle].
#pragma once
#include "plan.hpp"

namespace volume_binding {

namespace capacity_field {
enum { class_name, capacity, maximum, topology, count };
}
inline constexpr std::array<berth_field_v1, capacity_field::count> k_capacity_fields = {
    storage::field("storageClassName", BERTH_FIELD_STR),
    storage::field("capacity", BERTH_FIELD_QUANTITY),
    storage::field("maximumVolumeSize", BERTH_FIELD_QUANTITY),
    storage::field("nodeTopology", BERTH_FIELD_JSON),
};
inline constexpr std::array<berth_field_v1, 1> k_driver_fields = {
    storage::field("spec.storageCapacity", BERTH_FIELD_BOOL)};

/// The size up to which a capacity promises volumes; absent: none.
inline std::optional<std::int64_t> capacity_limit(const berth_object_v1& object) {
  for (const std::size_t field : {capacity_field::maximum, capacity_field::capacity})
    if (storage::present(object, field)) return storage::number(object, field);
  return std::nullopt;
}

/// A pod that cannot be planned for, with the sentence and whether it is broken rather than refused.
struct Refusal {
  std::string text;
  bool error = false;
};

/// What has changed over time.
struct PlanRules {
  bool capacity = true;             // of drivers that report it is compared
  bool immediate_is_error = false;  // a claim that should have been bound by now: broken, not refused
};

class Planner {
 public:
  Planner(berth::Setup& setup, PlanRules rules)
      : rules_(rules),
        intern_(setup.service<berth::Intern>()),
        objects_(setup.service<berth::Objects>()),
        columns_(setup.service<berth::NodeColumns>()),
        values_(setup.service<berth::Labels>(), intern_),
        catalog_(objects_),
        names_(setup.name()),
        claims_(objects_.watch(storage::k_claims, storage::k_claim_fields)),
        classes_(objects_.watch(storage::k_classes, storage::k_class_fields)),
        csi_nodes_(objects_.watch(storage::k_csi_nodes, storage::k_csi_node_fields)) {
    if (!rules.capacity) return;
    drivers_ = objects_.watch(storage::k_csi_drivers, k_driver_fields);
    capacities_ = objects_.watch(storage::k_capacities, k_capacity_fields);
  }

  std::uint32_t claim_watch() const noexcept { return claims_; }
  std::uint32_t volume_watch() const noexcept { return catalog_.watch(); }
  berth::IdColumn names() const noexcept { return names_; }

  /// Requires: the pod names claims.
  std::optional<Refusal> plan(const berth::Cycle& cycle, Plan& plan) {
    std::vector<storage::Claim> claims;
    if (auto refusal = read_claims(cycle.pod(), claims)) return refusal;
    catalog_.refresh();
    bool immediate = false;
    for (storage::Claim& claim : claims) {
      if (claim.bound()) {
        plan.bound.push_back(bound_claim(cycle, claim));
        continue;
      }
      bool delayed = false;
      if (auto refusal = waits_for_pod(claim, delayed)) return refusal;
      if (!delayed || !claim.volume.empty()) {
        immediate = true;
        continue;
      }
      plan.delayed.emplace_back().claim = std::move(claim);
    }
    if (immediate) return Refusal{"pod has unbound immediate PersistentVolumeClaims", rules_.immediate_is_error};
    for (std::uint32_t i = 0; i < plan.delayed.size(); ++i) plan_delayed(cycle, plan, i);
    std::stable_sort(plan.by_size.begin(), plan.by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan.delayed[a].claim.request < plan.delayed[b].claim.request;
    });
    return std::nullopt;
  }

 private:
  std::optional<Refusal> read_claims(berth::Pod pod, std::vector<storage::Claim>& claims) const {
    const std::string_view ns = intern_.text(pod.ns());
    for (const berth_volume_v1& volume : pod.volumes()) {
      const bool ephemeral = volume.kind == BERTH_VOLUME_EPHEMERAL;
      if (!ephemeral && volume.kind != BERTH_VOLUME_CLAIM) continue;
      const std::string name(berth::view(volume.source));
      storage::Claim claim;
      if (!objects_.get(claims_, ns, name, [&](const berth_object_v1& object) { claim = storage::read_claim(object); }))
        return Refusal{ephemeral ? "waiting for ephemeral volume controller to create the persistentvolumeclaim \"" +
                                       name + "\""
                                 : storage::claim_not_found(name)};
      if (claim.phase == "Lost")
        return Refusal{"persistentvolumeclaim \"" + name + "\" bound to non-existent persistentvolume \"" +
                       claim.volume + "\""};
      if (claim.deleted) return Refusal{"persistentvolumeclaim \"" + name + "\" is being deleted"};
      if (ephemeral && claim.owner_uid != pod.uid()) return Refusal{storage::not_owner(ns, name, pod.name())};
      claims.push_back(std::move(claim));
    }
    return std::nullopt;
  }

  std::optional<Refusal> waits_for_pod(const storage::Claim& claim, bool& delayed) const {
    if (claim.class_name.empty()) return std::nullopt;
    bool has_mode = false;
    const bool known = objects_.get(classes_, {}, claim.class_name, [&](const berth_object_v1& object) {
      has_mode = storage::present(object, storage::class_field::binding_mode);
      delayed = storage::text(object, storage::class_field::binding_mode) == "WaitForFirstConsumer";
    });
    if (known && !has_mode)
      return Refusal{"VolumeBindingMode not set for StorageClass \"" + claim.class_name + "\"", true};
    return std::nullopt;
  }

  BoundClaim bound_claim(const berth::Cycle& cycle, const storage::Claim& claim) {
    BoundClaim out;
    const VolumePtr volume = catalog_.find(claim.volume);
    if (volume == nullptr) {
      out.missing = true;
      return out;
    }
    out.plain = values_.matching(cycle, volume->affinity);
    const storage::InTree* type = storage::in_tree_of(volume->spec);
    if (type == nullptr || !type->switched) return out;
    out.migrated = migrated_nodes(cycle, *type);
    // Whether the volume can be translated as a whole is judged before its affinity is.
    out.error = storage::csi_handle(*type, volume->spec, &volume->labels).error;
    if (out.error.empty()) out.translated = values_.matching(cycle, storage::csi_affinity(*type, *volume));
    return out;
  }

  /// Nodes whose CSINode says that the plugin's driver has taken over.
  storage::NodeBits migrated_nodes(const berth::Cycle& cycle, const storage::InTree& type) const {
    storage::NodeBits bits(cycle.nodes().size(), 0);
    const berth::Id* names = columns_.column(cycle, names_);
    for (std::size_t w = 0; w < bits.size(); ++w)
      berth::each_bit(cycle.nodes()[w], [&](std::uint32_t bit) {
        objects_.get(csi_nodes_, {}, intern_.text(names[w * 64 + bit]), [&](const berth_object_v1& object) {
          if ((storage::migrated_plugins(object) & storage::bit_of(type)) != 0) bits[w] |= std::uint64_t{1} << bit;
        });
      });
    return bits;
  }

  void plan_delayed(const berth::Cycle& cycle, Plan& plan, std::uint32_t index) {
    DelayedClaim& delayed = plan.delayed[index];
    const storage::Claim& claim = delayed.claim;
    if (const std::string* node = storage::find(claim.annotations, storage::k_selected_node)) {
      delayed.selected_node = intern_(*node);
    } else {
      if (claim.has_selector && claim.selector.invalid)
        delayed.selector_error =
            "error creating internal label selector for claim: " + claim.key() + ": the selector cannot be read";
      delayed.candidates.collect(cycle, claim, catalog_, values_, plan.delayed.size());
      plan.by_size.push_back(index);
    }
    std::string provisioner;
    storage::Terms topologies;
    if (!objects_.get(classes_, {}, claim.class_name, [&](const berth_object_v1& object) {
          provisioner = storage::text(object, storage::class_field::provisioner);
          topologies = storage::parse_topologies(storage::json(object, storage::class_field::topologies));
        })) {
      delayed.error = "failed to find storage class \"" + claim.class_name + "\"";
      return;
    }
    delayed.provisions = !provisioner.empty() && provisioner != storage::k_no_provisioner;
    if (!delayed.provisions) return;
    delayed.topology = values_.matching(cycle, topologies);
    if (rules_.capacity) plan_capacity(cycle, provisioner, delayed);
  }

  void plan_capacity(const berth::Cycle& cycle, const std::string& provisioner, DelayedClaim& delayed) {
    if (!delayed.claim.has_request) return;
    bool reports = false;
    objects_.get(drivers_, {}, provisioner,
                 [&](const berth_object_v1& object) { reports = storage::number(object, 0) != 0; });
    if (!reports) return;
    delayed.checks_capacity = true;
    delayed.capacity.assign(cycle.nodes().size(), 0);
    objects_.each(capacities_, {}, [&](const berth_object_v1& object) {
      if (storage::text(object, capacity_field::class_name) != delayed.claim.class_name) return;
      const auto limit = capacity_limit(object);
      if (!limit || *limit < delayed.claim.request || !storage::present(object, capacity_field::topology)) return;
      const storage::Term topology = storage::parse_label_selector(storage::json(object, capacity_field::topology));
      if (!topology.invalid) values_.add_matching(cycle, topology, delayed.capacity);
    });
  }

  PlanRules rules_;
  berth::Intern intern_;
  berth::Objects objects_;
  berth::NodeColumns columns_;
  NodeValues values_;
  Catalog catalog_;
  berth::IdColumn names_;
  std::uint32_t claims_, classes_, csi_nodes_;
  std::uint32_t drivers_ = 0, capacities_ = 0;  // where capacity is compared
};

}  // namespace volume_binding
