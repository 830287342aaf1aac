// SPDX-License-Identifier: Apache-2.0
/// For tests of storage policies: objects in the fields that these policies watch, put into a FakeCluster.
#pragma once
#include "objects.hpp"

#include <berth/testkit/cluster.hpp>

namespace storage::testing {

using berth::testkit::FakeCluster;
using berth::testkit::FieldText;
using berth::testkit::ObjectSpec;

inline std::string quoted_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? ",\"" : "\"") + item + "\"";
  return out + "]";
}
inline std::string map_of(const Pairs& pairs) {
  if (pairs.empty()) return {};
  std::string out = "{";
  for (const auto& [key, value] : pairs) out += (out.size() > 1 ? ",\"" : "\"") + key + "\":\"" + value + "\"";
  return out + "}";
}

struct ClaimSpec {
  std::string name;
  std::string ns = "default";
  std::string class_name = {};
  std::string volume = {};
  bool bound = false;  ///< the controller has finished binding it
  std::int64_t request = 1;
  std::vector<std::string> modes = {"ReadWriteOnce"};
  std::string phase = "Pending";
  std::string owner_uid = {};
  std::string selected_node = {};
  bool deleted = false;
};
inline ObjectSpec claim(const ClaimSpec& s) {
  Pairs annotations;
  if (s.bound) annotations.emplace_back(k_bind_completed, "yes");
  if (!s.selected_node.empty()) annotations.emplace_back(k_selected_node, s.selected_node);
  const std::string owners =
      s.owner_uid.empty() ? std::string() : "[{\"controller\":true,\"uid\":\"" + s.owner_uid + "\"}]";
  return {s.ns,
          s.name,
          {s.volume, s.class_name, s.bound ? "Bound" : s.phase, s.deleted ? "2026-01-01T00:00:00Z" : "",
           map_of(annotations), quoted_list(s.modes), s.request, "", "", "", owners, ""}};
}

struct VolumeObjectSpec {
  std::string name;
  std::string class_name = {};
  std::int64_t capacity = 1;
  std::string source = {};    ///< "\"csi\":{…}"; empty: none
  std::string affinity = {};  ///< JSON of nodeSelectorTerms
  std::string claim = {};     ///< of namespace default
  Pairs labels = {};
  std::string phase = "Available";
};
inline std::string csi(const std::string& driver, const std::string& handle) {
  return "\"csi\":{\"driver\":\"" + driver + "\",\"volumeHandle\":\"" + handle + "\"}";
}
inline std::string in_label(const std::string& key, const std::vector<std::string>& values) {
  return "[{\"matchExpressions\":[{\"key\":\"" + key + "\",\"operator\":\"In\",\"values\":" + quoted_list(values) +
         "}]}]";
}
inline ObjectSpec volume(const VolumeObjectSpec& s) {
  std::string spec = "{\"storageClassName\":\"" + s.class_name + "\",\"accessModes\":[\"ReadWriteOnce\"]";
  if (!s.source.empty()) spec += "," + s.source;
  if (!s.affinity.empty()) spec += ",\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":" + s.affinity + "}}";
  const std::string ref =
      s.claim.empty() ? std::string()
                      : "{\"namespace\":\"default\",\"name\":\"" + s.claim + "\",\"uid\":\"" + s.claim + "-uid\"}";
  return {"", s.name, {spec + "}", s.capacity, ref, map_of(s.labels), "", s.phase, "", ""}};
}

inline ObjectSpec storage_class(const std::string& name, const std::string& provisioner, const std::string& mode,
                                const std::string& topologies = {}) {
  return {"", name, {provisioner, mode, topologies}};
}
/// drivers: JSON of spec.drivers.
inline ObjectSpec csi_node(const std::string& name, const std::string& drivers, const std::string& migrated = {}) {
  return {
      "", name, {drivers, migrated.empty() ? std::string() : map_of({{std::string(k_migrated_plugins), migrated}})}};
}
inline std::string limit(const std::string& driver, int count) {
  return "[{\"name\":\"" + driver + "\",\"allocatable\":{\"count\":" + std::to_string(count) + "}}]";
}

/// The nodes of an attempt, also for services that show the whole snapshot.
inline std::vector<berth::testkit::NodeSpec> seen(berth::testkit::Policy& policy,
                                                  std::vector<berth::testkit::NodeSpec> nodes) {
  return FakeCluster::of(policy).nodes = std::move(nodes);
}

inline void put(FakeCluster& cluster, std::string_view resource, const ObjectSpec& object) {
  cluster.put(std::string(resource), object.ns, object.name, object.values);
}
inline void put_claim(FakeCluster& cluster, const ClaimSpec& spec) { put(cluster, k_claims, claim(spec)); }
inline void put_volume(FakeCluster& cluster, const VolumeObjectSpec& spec) { put(cluster, k_volumes, volume(spec)); }
/// A claim with its CSI volume, bound to each other; the handle is "h-" and the claim's name.
inline void put_bound(FakeCluster& cluster, const std::string& name, const std::string& driver) {
  put_claim(cluster, {.name = name, .class_name = "disks", .volume = "v-" + name, .bound = true});
  put_volume(cluster, {.name = "v-" + name,
                       .class_name = "disks",
                       .source = csi(driver, "h-" + name),
                       .claim = name,
                       .phase = "Bound"});
}

}  // namespace storage::testing
