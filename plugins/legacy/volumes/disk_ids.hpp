// SPDX-License-Identifier: Apache-2.0
/// The disks of one in-tree type that stand behind volumes of pods, each by its id.
///
/// A volume of the type that stands in a pod has its id; a claim that of its volume. A claim without a volume, or whose
/// volume is not there, counts as a disk of its own if its class provisions the type. Claims that are not there count
/// as nothing.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go (MaxPDVolumeCountChecker).
/// Threads: [any]; DiskCounts synchronises itself.
#pragma once
#include "../../shared/storage/claim_walk.hpp"
#include "../../shared/storage/in_tree.hpp"
#include "../known_sets.hpp"

#include <memory>

namespace berth::legacy {

/// What differs between the four.
struct DiskType {
  std::string_view source;       // member of a volume: "awsElasticBlockStore"
  std::string_view id;           // member of the source that names the disk
  std::string_view provisioner;  // "kubernetes.io/aws-ebs": of classes, and the in-tree plugin's name
  const char* resource;          // what a node's allocatable calls its limit
  std::int64_t limit;            // where nothing says so
  std::int64_t nitro_limit;      // the same on AWS instances of the Nitro kind
};

using DiskIds = std::vector<std::string>;  // sorted, each once

class DiskReader {
 public:
  DiskReader(Setup& setup, const DiskType& type)
      : type_(type),
        intern_(setup.service<Intern>()),
        sets_(setup.service<Sets>()),
        objects_(setup.service<Objects>()),
        walk_(setup),
        csi_nodes_(objects_.watch(storage::k_csi_nodes, storage::k_csi_node_fields)) {}

  DiskIds of_pod(Pod pod) const {
    DiskIds ids;
    const std::string_view ns = intern_.text(pod.ns());
    for (const berth_volume_v1& volume : pod.volumes()) {
      if (volume.kind == BERTH_VOLUME_INLINE) add_inline(view(volume.source), ids);
      if (volume.kind == BERTH_VOLUME_CLAIM) add_claim(ns, view(volume.source), ids);
    }
    return unique(std::move(ids));
  }
  /// Of a list of volumes of a node.
  DiskIds of_set(std::uint32_t set) const {
    DiskIds ids;
    for (const NodeVolume& volume : sets_.volumes(set)) {
      if (volume.kind == BERTH_VOLUME_INLINE) add_inline(intern_.text(volume.source), ids);
      if (volume.kind == BERTH_VOLUME_CLAIM) add_claim(intern_.text(volume.ns), intern_.text(volume.source), ids);
    }
    return unique(std::move(ids));
  }
  /// The node's CSINode says that a CSI driver has taken over.
  bool is_migrated(std::string_view node) const {
    bool migrated = false;
    objects_.get(csi_nodes_, {}, node, [&](const berth_object_v1& object) {
      migrated =
          (storage::migrated_plugins(object) & storage::bit_of(*storage::in_tree_plugin(type_.provisioner))) != 0;
    });
    return migrated;
  }
  /// Changes when an answer may have changed.
  std::uint64_t epoch() const noexcept { return walk_.epoch() + objects_.epoch(csi_nodes_); }

 private:
  static DiskIds unique(DiskIds ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }
  /// False when the volume is of another type.
  bool add_source(const Json& volume, DiskIds& ids) const {
    const Json& source = volume[type_.source];
    if (!source.is_object()) return false;
    ids.push_back(source[type_.id].string_or(type_.id, ""));
    return true;
  }
  void add_inline(std::string_view text, DiskIds& ids) const { add_source(Json::parse(text), ids); }

  void add_claim(std::string_view ns, std::string_view name, DiskIds& ids) const {
    walk_.walk(
        ns, name,
        [](const berth_object_v1& claim) {
          return std::string(storage::text(claim, storage::claim_field::class_name));
        },
        [&](const berth_object_v1& volume) { add_source(storage::json(volume, storage::volume_field::spec), ids); },
        [&](const std::string& provisioner) {
          if (provisioner == type_.provisioner) ids.push_back(storage::ClaimWalk::unmade(ns, name));
        });
  }

  const DiskType& type_;
  Intern intern_;
  Sets sets_;
  Objects objects_;
  storage::ClaimWalk walk_;
  std::uint32_t csi_nodes_;
};

/// How many disks of the type nodes have, by list of volumes, as far as they were asked for.
class DiskCounts {
 public:
  struct Room {
    std::int64_t existing = 0;
    std::int64_t more = 0;  // of the wanted ones, those that are not there yet
  };

  explicit DiskCounts(const DiskReader& reader) : reader_(reader) {}

  void refresh(std::uint64_t epoch, std::uint64_t recycled) { known_.refresh(epoch, recycled); }
  Room room(std::uint32_t set, const DiskIds& wanted) {
    return compared(*known_.get(set, [&](std::uint32_t s) { return reader_.of_set(s); }), wanted);
  }

 private:
  static Room compared(const DiskIds& ids, const DiskIds& wanted) {
    const auto missing = [&](const std::string& id) { return !std::binary_search(ids.begin(), ids.end(), id); };
    return {static_cast<std::int64_t>(ids.size()), std::count_if(wanted.begin(), wanted.end(), missing)};
  }

  const DiskReader& reader_;
  KnownSets<DiskIds> known_;
};

}  // namespace berth::legacy
