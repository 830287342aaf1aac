// SPDX-License-Identifier: Apache-2.0
/// The CSI volumes behind claims of pods: a driver and a handle. Volumes that stand in a pod itself are not looked at,
/// and claims that are not there count as nothing.
///
/// Volumes of an in-tree type count for the driver that took the type over, on nodes whose CSINode says so.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/csi_volume_predicate.go. Threads: [any].
#pragma once
#include "../storage/in_tree.hpp"
#include "sha1.hpp"

#include <map>

namespace berth::legacy {

struct CsiVolume {
  std::string driver, handle;
  std::string_view took_over;  // the in-tree plugin; empty: always was the driver's
  friend bool operator<(const CsiVolume& a, const CsiVolume& b) {
    return a.driver != b.driver ? a.driver < b.driver : a.handle < b.handle;
  }
  friend bool operator==(const CsiVolume& a, const CsiVolume& b) {
    return a.driver == b.driver && a.handle == b.handle;
  }
};
using CsiVolumes = std::vector<CsiVolume>;  // sorted, each once

/// What a node's CSINode says.
struct CsiNode {
  std::vector<std::string> migrated;           // in-tree plugins
  std::map<std::string, std::int64_t> limits;  // by driver
  bool counts(const CsiVolume& volume) const {
    return volume.took_over.empty() || std::find(migrated.begin(), migrated.end(), volume.took_over) != migrated.end();
  }
};

/// The resource by which a node's allocatable names the limit of a driver: label names must not get too long.
inline std::string limit_key(const std::string& driver) {
  const std::string prefix = "attachable-volumes-csi-";
  if (prefix.size() + driver.size() < 63) return prefix + driver;
  return prefix + driver.substr(0, 23) + sha1_hex(driver).substr(0, 16);
}

class CsiReader {
 public:
  explicit CsiReader(Setup& setup)
      : intern_(setup.service<Intern>()),
        sets_(setup.service<Sets>()),
        objects_(setup.service<Objects>()),
        claims_(objects_.watch(storage::k_claims, storage::k_claim_fields)),
        volumes_(objects_.watch(storage::k_volumes, storage::k_volume_fields)),
        classes_(objects_.watch(storage::k_classes, storage::k_class_fields)),
        csi_nodes_(objects_.watch(storage::k_csi_nodes, storage::k_csi_node_fields)) {}

  CsiVolumes of_pod(Pod pod) const {
    CsiVolumes out;
    for (const berth_volume_v1& volume : pod.volumes())
      if (volume.kind == BERTH_VOLUME_CLAIM) add_claim(intern_.text(pod.ns()), view(volume.source), out);
    return unique(std::move(out));
  }
  CsiVolumes of_set(std::uint32_t set) const {
    CsiVolumes out;
    for (const NodeVolume& volume : sets_.volumes(set))
      if (volume.kind == BERTH_VOLUME_CLAIM) add_claim(intern_.text(volume.ns), intern_.text(volume.source), out);
    return unique(std::move(out));
  }
  CsiNode node(std::string_view name) const {
    CsiNode node;
    objects_.get(csi_nodes_, {}, name, [&](const berth_object_v1& object) {
      const auto annotations = storage::pairs(storage::json(object, storage::csi_node_field::annotations));
      if (const std::string* list = storage::find(annotations, storage::k_migrated_plugins))
        node.migrated = storage::detail::split(*list, ",");
      const Json drivers = storage::json(object, storage::csi_node_field::drivers);
      for (const Json& driver : drivers.items()) {
        const Json& count = driver["allocatable"]["count"];
        if (count.is_number()) node.limits[driver["name"].string_or("name", "")] = count.integer("count");
      }
    });
    return node;
  }

 private:
  static CsiVolumes unique(CsiVolumes volumes) {
    std::sort(volumes.begin(), volumes.end());
    volumes.erase(std::unique(volumes.begin(), volumes.end()), volumes.end());
    return volumes;
  }

  void add_claim(std::string_view ns, std::string_view name, CsiVolumes& out) const {
    if (name.empty()) throw Failure("PersistentVolumeClaim had no name");
    std::string volume, class_name;
    if (!objects_.get(claims_, ns, name, [&](const berth_object_v1& object) {
          const storage::Claim claim = storage::read_claim(object);
          volume = claim.volume;
          class_name = claim.class_name;
        }))
      return;
    const bool found = !volume.empty() && objects_.get(volumes_, {}, volume, [&](const berth_object_v1& object) {
      add_volume(storage::read_volume(object), out);
    });
    if (!found) add_provisioned(class_name, "\x01" + std::string(ns) + "/" + std::string(name), out);
  }
  static void add_volume(const storage::Volume& volume, CsiVolumes& out) {
    const Json& csi = volume.spec["csi"];
    if (csi.is_object()) {
      CsiVolume one{csi["driver"].string_or("driver", ""), csi["volumeHandle"].string_or("volumeHandle", ""), {}};
      if (!one.driver.empty() && !one.handle.empty()) out.push_back(std::move(one));
      return;
    }
    const storage::InTree* type = storage::in_tree_of(volume.spec);
    if (type == nullptr || !type->switched) return;
    storage::Handle handle = storage::csi_handle(*type, volume.spec, &volume.labels);
    if (handle.error.empty() && !handle.value.empty())
      out.push_back({std::string(type->driver), std::move(handle.value), type->plugin});
  }
  /// `handle`: one that no volume has.
  void add_provisioned(const std::string& class_name, std::string handle, CsiVolumes& out) const {
    std::string provisioner;
    if (class_name.empty()) return;
    objects_.get(classes_, {}, class_name, [&](const berth_object_v1& object) {
      provisioner = storage::text(object, storage::class_field::provisioner);
    });
    if (provisioner.empty()) return;
    const storage::InTree* type = storage::in_tree_plugin(provisioner);
    if (type == nullptr) {
      out.push_back({std::move(provisioner), std::move(handle), {}});
    } else if (type->switched) {
      out.push_back({std::string(type->driver), std::move(handle), type->plugin});
    }
  }

  Intern intern_;
  Sets sets_;
  Objects objects_;
  std::uint32_t claims_, volumes_, classes_, csi_nodes_;
};

}  // namespace berth::legacy
