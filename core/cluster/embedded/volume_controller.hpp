// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.hpp"
#include "model/object.hpp"

namespace berth::cluster {

/// Stands in for the controllers that finish what a scheduler decides about volumes, where there is no API server.
///
/// It does two things, at once and without failing:
///   - a volume whose claimRef names a claim, and that claim, are bound to each other;
///   - a claim with the annotation volume.kubernetes.io/selected-node, of a class whose provisioner can provision, gets
///     a volume "pvc-<uid>" of the requested size, usable where the driver's topology keys say (CSINode of that node),
///     and is bound.
/// It does not: look for volumes itself (claims of classes with mode Immediate stay unbound), fail, take time, reclaim,
/// attach, or look at quota and capacity.
///
/// Place:   inside the embedded cluster, told of every object that was put or patched.
/// Threads: the caller's lock.
/// Source:  kubernetes v1.36 pkg/controller/volume/persistentvolume/pv_controller.go (syncVolume, bind,
///          bindVolumeToClaim);
///          for the provisioned volume's topology sigs.k8s.io/sig-storage-lib-external-provisioner.
class VolumeController {
 public:
  struct Cluster {
    std::function<model::ObjectPtr(std::string_view resource, std::string_view ns, std::string_view name)> find;
    /// Name of a volume whose claimRef is that claim; empty: none.
    std::function<std::string(std::string_view ns, std::string_view name)> volume_for;
    /// Value of a node's label, empty when absent.
    std::function<std::string(std::string_view node, std::string_view key)> node_label;
  };
  /// A new or changed object, to be stored and told of as any other.
  struct Change {
    std::string resource, ns, name, uid, json;
  };

  /// What the controllers write after `object` was written.
  static std::vector<Change> react(const model::Object& object, const Cluster& cluster);
  /// "ns/name" of the claim that a volume's claimRef names; empty: none.
  static std::string claim_of(const model::Object& volume);
};

inline constexpr std::string_view k_volumes = "core/v1/persistentvolumes";
inline constexpr std::string_view k_claims = "core/v1/persistentvolumeclaims";

}  // namespace berth::cluster
