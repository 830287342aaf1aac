// SPDX-License-Identifier: Apache-2.0
/// Which share of the disks that a node can still attach a pod would take.
///
/// Disks that are on the node already cost nothing there. Of several types that the pod brings, the last one counts, in
/// the order EBS, GCE, Azure, Cinder: each check of a limit wrote over what the one before had noted. A type that a CSI
/// driver has taken over on a node is passed over there.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go (MaxPDVolumeCountChecker, TransientInfo).
/// Departs: says it whether or not the profile checks the limits, and forgets it with the pod.
#pragma once
#include "csi_nodes.hpp"
#include "disk_limit.hpp"

#include <array>
#include <memory>

namespace berth::legacy {

/// Threads: [cycle].
class AttachedVolumes {
 public:
  static constexpr double k_unknown = -1;  // nothing to bring, or no disk may be attached any more

  explicit AttachedVolumes(Setup& setup)
      : columns_(setup.service<NodeColumns>()),
        sets_(setup.service<Sets>()),
        names_(setup.name()),
        volumes_(setup.volume_set()),
        csi_nodes_(setup) {
    for (const DiskType* type : {&k_ebs, &k_gce, &k_azure, &k_cinder})
      kinds_.push_back(std::make_unique<Kind>(setup, *type));
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  /// By slot, for the nodes named; empty when the pod brings no disk.
  std::vector<double> shares(const Cycle& cycle, std::span<const Slot> nodes) {
    std::vector<Wanted> wanted;  // the type that counts first
    for (auto kind = kinds_.rbegin(); kind != kinds_.rend(); ++kind)
      if (DiskIds ids = (*kind)->reader.of_pod(cycle.pod()); !ids.empty())
        wanted.push_back({kind->get(), std::move(ids), columns_.column(cycle, (*kind)->limit.own()),
                          columns_.column(cycle, (*kind)->limit.instance_types())});
    if (wanted.empty()) return {};
    for (const Wanted& each : wanted) each.kind->counts.refresh(each.kind->reader.epoch(), sets_.recycled());
    csi_nodes_.refresh(cycle, columns_.column(cycle, names_));
    const Id* volumes = columns_.column(cycle, volumes_);
    std::vector<double> shares(cycle.slot_count(), k_unknown);
    for (const Slot slot : nodes) shares[slot] = share(wanted, slot, volumes[slot]);
    return shares;
  }

 private:
  struct Kind {
    Kind(Setup& setup, const DiskType& type)
        : limit(setup, type),
          reader(setup, type),
          counts(reader),
          taken_over(storage::bit_of(*storage::in_tree_plugin(type.provisioner))) {}
    DiskLimit limit;
    DiskReader reader;
    DiskCounts counts;
    std::uint32_t taken_over;  // of CsiNode::migrated
  };
  struct Wanted {
    Kind* kind;
    DiskIds ids;
    const std::int64_t* own_limits;  // by slot
    const Id* instance_types;
    DiskLimit::Memo limits = {};
  };

  double share(std::vector<Wanted>& wanted, Slot slot, std::uint32_t volumes) {
    for (Wanted& each : wanted) {
      if ((csi_nodes_.at(slot).migrated & each.kind->taken_over) != 0) continue;
      const DiskCounts::Room room = each.kind->counts.room(volumes, each.ids);
      const std::int64_t limit = each.kind->limit.of(each.own_limits[slot], each.instance_types[slot], each.limits);
      const std::int64_t left = limit - room.existing;
      return left > 0 ? static_cast<double>(room.more) / static_cast<double>(left) : k_unknown;
    }
    return k_unknown;
  }

  NodeColumns columns_;
  Sets sets_;
  IdColumn names_;
  IdColumn volumes_;
  CsiNodes csi_nodes_;
  std::vector<std::unique_ptr<Kind>> kinds_;  // in the order in which limits were checked
};

}  // namespace berth::legacy
