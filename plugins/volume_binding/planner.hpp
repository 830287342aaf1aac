// SPDX-License-Identifier: Apache-2.0
/// Makes plans. Threads: [cycle].
#pragma once
#include "capacities.hpp"
#include "plan.hpp"

#include <unordered_set>

namespace volume_binding {

inline constexpr std::array<berth_field_v1, 1> k_driver_fields = {
    storage::field("spec.storageCapacity", BERTH_FIELD_BOOL)};

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
    capacities_.emplace(objects_);
  }

  std::uint32_t claim_watch() const noexcept { return claims_; }
  std::uint32_t volume_watch() const noexcept { return catalog_.watch(); }
  berth::IdColumn names() const noexcept { return names_; }

  /// Requires: the pod names claims.
  std::optional<Refusal> plan(const berth::Cycle& cycle, Plan& plan) {
    std::vector<storage::Claim> claims;
    if (auto refusal = read_claims(cycle.pod(), claims)) return refusal;
    catalog_.refresh();
    values_.start_cycle();
    Shared shared;
    bool immediate = false;
    for (storage::Claim& claim : claims) {
      if (claim.bound()) {
        plan.bound.push_back(bound_claim(cycle, claim, shared));
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
    search_volumes(cycle, plan);
    for (DelayedClaim& delayed : plan.delayed) plan_provisioning(cycle, delayed, shared);
    if (rules_.capacity) plan_capacities(cycle, plan, shared);
    std::stable_sort(plan.by_size.begin(), plan.by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan.delayed[a].claim.request < plan.delayed[b].claim.request;
    });
    return std::nullopt;
  }

 private:
  /// What claims of one class have in common.
  struct ClassPlan {
    std::string error, provisioner;
    bool provisions = false;
    bool reports_capacity = false;
    SharedBits topology;
  };
  /// What the claims of one attempt share.
  struct Shared {
    std::unordered_map<const storage::InTree*, SharedBits> migrated;
    std::unordered_map<std::string, ClassPlan> classes;
  };

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

  BoundClaim bound_claim(const berth::Cycle& cycle, const storage::Claim& claim, Shared& shared) {
    BoundClaim out;
    const VolumePtr volume = catalog_.find(claim.volume);
    if (volume == nullptr) {
      out.missing = true;
      return out;
    }
    out.plain = values_.matching(cycle, volume->affinity);
    const storage::InTree* type = storage::in_tree_of(volume->spec);
    if (type == nullptr || !type->switched) return out;
    SharedBits& migrated = shared.migrated[type];
    if (migrated == nullptr) migrated = std::make_shared<const storage::NodeBits>(migrated_nodes(cycle, *type));
    out.migrated = *migrated;
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

  /// Volumes for the claims that look for one.
  void search_volumes(const berth::Cycle& cycle, Plan& plan) {
    std::unordered_map<std::string, std::shared_ptr<Pool>> pools;
    std::vector<std::shared_ptr<Pool>> pool_of(plan.delayed.size());
    for (std::uint32_t i = 0; i < plan.delayed.size(); ++i) {
      DelayedClaim& delayed = plan.delayed[i];
      const storage::Claim& claim = delayed.claim;
      if (const std::string* node = storage::find(claim.annotations, storage::k_selected_node)) {
        delayed.selected_node = intern_.for_cycle(*node);
        continue;
      }
      if (claim.has_selector && claim.selector.invalid)
        delayed.selector_error =
            "error creating internal label selector for claim: " + claim.key() + ": the selector cannot be read";
      std::shared_ptr<Pool>& pool = pools[Pool::key_of(claim)];
      if (pool == nullptr) pool = std::make_shared<Pool>(static_cast<std::uint32_t>(pools.size() - 1));
      pool->add_claim(claim);
      pool_of[i] = pool;
      plan.by_size.push_back(i);
    }
    if (plan.by_size.empty()) return;
    const auto affinities = std::make_shared<AffinityIndex>(intern_);
    for (const std::uint32_t i : plan.by_size) {
      const storage::Claim& claim = plan.delayed[i].claim;
      if (const auto pool = pools.extract(Pool::key_of(claim)); !pool.empty())
        pool.mapped()->collect(claim, catalog_, plan.delayed.size(), *affinities);
      plan.delayed[i].candidates.collect(cycle, claim, catalog_, values_, std::move(pool_of[i]));
    }
    plan.affinities = affinities;
  }

  void plan_provisioning(const berth::Cycle& cycle, DelayedClaim& delayed, Shared& shared) {
    const auto [at, fresh] = shared.classes.try_emplace(delayed.claim.class_name);
    if (fresh) plan_class(cycle, at->first, at->second);
    delayed.error = at->second.error;
    delayed.provisions = at->second.provisions;
    delayed.topology = at->second.topology;
  }
  void plan_class(const berth::Cycle& cycle, const std::string& name, ClassPlan& plan) {
    storage::Terms topologies;
    if (!objects_.get(classes_, {}, name, [&](const berth_object_v1& object) {
          plan.provisioner = storage::text(object, storage::class_field::provisioner);
          topologies = storage::parse_topologies(storage::json(object, storage::class_field::topologies));
        })) {
      plan.error = "failed to find storage class \"" + name + "\"";
      return;
    }
    plan.provisions = !plan.provisioner.empty() && plan.provisioner != storage::k_no_provisioner;
    if (!plan.provisions) return;
    plan.topology = std::make_shared<const storage::NodeBits>(values_.matching(cycle, topologies));
    if (!rules_.capacity) return;
    objects_.get(drivers_, {}, plan.provisioner,
                 [&](const berth_object_v1& object) { plan.reports_capacity = storage::number(object, 0) != 0; });
  }

  /// Claims of one class, largest first: a node that has room for a larger one has room for the next.
  void plan_capacities(const berth::Cycle& cycle, Plan& plan, const Shared& shared) {
    std::vector<DelayedClaim*> claims;
    for (DelayedClaim& delayed : plan.delayed)
      if (delayed.claim.has_request && delayed.provisions &&
          shared.classes.at(delayed.claim.class_name).reports_capacity)
        claims.push_back(&delayed);
    if (claims.empty()) return;
    capacities_->refresh();
    std::stable_sort(claims.begin(), claims.end(), [](const DelayedClaim* a, const DelayedClaim* b) {
      const int order = a->claim.class_name.compare(b->claim.class_name);
      return order != 0 ? order < 0 : a->claim.request > b->claim.request;
    });
    for (std::size_t i = 0; i < claims.size();) {
      const std::string& class_name = claims[i]->claim.class_name;
      storage::NodeBits bits(cycle.nodes().size(), 0);
      std::unordered_set<std::string> added;  // topologies
      SharedBits room;
      const auto left = [&] { return i < claims.size() && claims[i]->claim.class_name == class_name; };
      const auto settle = [&] {
        if (room == nullptr) room = std::make_shared<const storage::NodeBits>(bits);
        claims[i]->checks_capacity = true;
        claims[i++]->capacity = room;
      };
      capacities_->each(class_name, [&](std::int64_t limit, const storage::Term& topology) {
        while (left() && claims[i]->claim.request > limit) settle();
        if (!left()) return false;
        std::string key;
        Affinities::append(key, topology);
        if (!added.insert(std::move(key)).second) return true;
        values_.add_matching(cycle, topology, bits);
        room = nullptr;
        return true;
      });
      while (left()) settle();
    }
  }

  PlanRules rules_;
  berth::Intern intern_;
  berth::Objects objects_;
  berth::NodeColumns columns_;
  NodeValues values_;
  Catalog catalog_;
  berth::IdColumn names_;
  std::uint32_t claims_, classes_, csi_nodes_;
  std::uint32_t drivers_ = 0;  // where capacity is compared, as the next
  std::optional<Capacities> capacities_;
};

}  // namespace volume_binding
