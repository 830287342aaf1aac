// SPDX-License-Identifier: Apache-2.0
/// The CSI volumes behind claims of pods: a driver and a handle. Volumes that stand in a pod itself are not looked at,
/// and claims that are not there count as nothing.
///
/// Volumes of an in-tree type count for the driver that took the type over, on nodes whose CSINode says so.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/csi_volume_predicate.go. Threads: [any].
#pragma once
#include "../../shared/storage/claim_walk.hpp"
#include "../../shared/storage/in_tree.hpp"
#include "../sha1.hpp"

namespace berth::legacy {

struct CsiVolume {
  std::string driver, handle;
  std::uint32_t took_over = 0;  // storage::bit_of the in-tree type; 0: always was the driver's
  friend bool operator<(const CsiVolume& a, const CsiVolume& b) {
    return a.driver != b.driver ? a.driver < b.driver : a.handle < b.handle;
  }
  friend bool operator==(const CsiVolume& a, const CsiVolume& b) {
    return a.driver == b.driver && a.handle == b.handle;
  }
};
using CsiVolumes = std::vector<CsiVolume>;  // sorted, each once

/// The resource by which a node's allocatable names the limit of a driver: label names must not get too long.
inline std::string limit_key(const std::string& driver) {
  const std::string prefix = "attachable-volumes-csi-";
  if (prefix.size() + driver.size() < 63) return prefix + driver;
  return prefix + driver.substr(0, 23) + sha1_hex(driver).substr(0, 16);
}

class CsiReader {
 public:
  explicit CsiReader(Setup& setup) : intern_(setup.service<Intern>()), sets_(setup.service<Sets>()), walk_(setup) {}

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
  /// Changes when an answer may have changed.
  std::uint64_t epoch() const noexcept { return walk_.epoch(); }
  std::uint64_t recycled() const { return sets_.recycled(); }

 private:
  static CsiVolumes unique(CsiVolumes volumes) {
    std::sort(volumes.begin(), volumes.end());
    volumes.erase(std::unique(volumes.begin(), volumes.end()), volumes.end());
    return volumes;
  }

  void add_claim(std::string_view ns, std::string_view name, CsiVolumes& out) const {
    walk_.walk(
        ns, name, [](const berth_object_v1& claim) { return storage::read_claim(claim).class_name; },
        [&](const berth_object_v1& volume) { add_volume(storage::read_volume(volume), out); },
        [&](std::string provisioner) {
          add_provisioned(std::move(provisioner), storage::ClaimWalk::unmade(ns, name), out);
        });
  }
  static void add_volume(const storage::Volume& volume, CsiVolumes& out) {
    const Json& csi = volume.spec["csi"];
    if (csi.is_object()) {
      CsiVolume one{csi["driver"].string_or("driver", ""), csi["volumeHandle"].string_or("volumeHandle", ""), 0};
      if (!one.driver.empty() && !one.handle.empty()) out.push_back(std::move(one));
      return;
    }
    const storage::InTree* type = storage::in_tree_of(volume.spec);
    if (type == nullptr || !type->switched) return;
    storage::Handle handle = storage::csi_handle(*type, volume.spec, &volume.labels);
    if (handle.error.empty() && !handle.value.empty())
      out.push_back({std::string(type->driver), std::move(handle.value), storage::bit_of(*type)});
  }
  static void add_provisioned(std::string provisioner, std::string handle, CsiVolumes& out) {
    const storage::InTree* type = storage::in_tree_plugin(provisioner);
    if (type == nullptr) {
      out.push_back({std::move(provisioner), std::move(handle), 0});
    } else if (type->switched) {
      out.push_back({std::string(type->driver), std::move(handle), storage::bit_of(*type)});
    }
  }

  Intern intern_;
  Sets sets_;
  storage::ClaimWalk walk_;
};

}  // namespace berth::legacy
