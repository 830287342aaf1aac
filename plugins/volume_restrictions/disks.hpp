// SPDX-License-Identifier: Apache-2.0
/// Disks that stand in a pod itself and bear one user at a time.
#pragma once
#include <berth/plugin.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace disks {

struct Disk {
  enum class Kind { none, gce, ebs, rbd, iscsi };
  Kind kind = Kind::none;
  std::string id;                     // pdName, volumeID, image, iqn
  std::string pool;                   // rbd
  std::vector<std::string> monitors;  // rbd
  bool read_only = false;
};

/// `volume` is an entry of spec.volumes as JSON.
inline Disk read_disk(std::string_view volume) {
  const berth::Json json = berth::Json::parse(volume);
  const auto text = [](const berth::Json& source, const char* key) { return source[key].string_or(key, ""); };
  Disk disk;
  const auto take = [&](const char* member, Disk::Kind kind, const char* id) {
    const berth::Json& source = json[member];
    if (!source.is_object()) return;
    disk.kind = kind;
    disk.id = text(source, id);
    disk.read_only = source["readOnly"].boolean_or("readOnly", false);
    if (kind != Disk::Kind::rbd) return;
    disk.pool = text(source, "pool");
    for (const berth::Json& monitor : source["monitors"].items()) disk.monitors.push_back(monitor.string("monitors"));
  };
  take("gcePersistentDisk", Disk::Kind::gce, "pdName");
  take("awsElasticBlockStore", Disk::Kind::ebs, "volumeID");
  take("rbd", Disk::Kind::rbd, "image");
  take("iscsi", Disk::Kind::iscsi, "iqn");
  return disk;
}

/// Both cannot be in use on one node.
inline bool conflict(const Disk& a, const Disk& b) {
  if (a.kind == Disk::Kind::none || a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == Disk::Kind::ebs) return true;
  if (a.read_only && b.read_only) return false;
  if (a.kind != Disk::Kind::rbd) return true;
  return a.pool == b.pool && std::any_of(a.monitors.begin(), a.monitors.end(), [&](const std::string& monitor) {
           return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
         });
}

}  // namespace disks
