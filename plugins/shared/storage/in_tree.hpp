// SPDX-License-Identifier: Apache-2.0
/// In-tree volume types and the CSI drivers that took them over.
///
/// Source: kubernetes v1.36 staging/src/k8s.io/csi-translation-lib/plugins.
#pragma once
#include "objects.hpp"

#include <map>
#include <set>

namespace storage {

struct InTree {
  std::string_view source;        // member of a volume: "awsElasticBlockStore"
  std::string_view plugin;        // "kubernetes.io/aws-ebs"
  std::string_view driver;        // "ebs.csi.aws.com"
  std::string_view topology_key;  // empty: node affinity stays as it is
  bool switched;                  // the scheduler's own switch for it is on
};
inline constexpr InTree k_in_tree[] = {
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone", true},
    {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone", true},
    {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone", true},
    {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com", "", true},
    {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com", "", true},
    {"azureFile", "kubernetes.io/azure-file", "file.csi.azure.com", "", false},
    {"vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "", false},
};

/// The in-tree type of a volume: of a spec (volumes) or of an entry of a pod. nullptr: none.
inline const InTree* in_tree_of(const berth::Json& volume) {
  for (const InTree& type : k_in_tree)
    if (volume[type.source].is_object()) return &type;
  return nullptr;
}
inline const InTree* in_tree_plugin(std::string_view plugin) {
  for (const InTree& type : k_in_tree)
    if (type.plugin == plugin) return &type;
  return nullptr;
}

inline std::uint32_t bit_of(const InTree& type) { return std::uint32_t{1} << (&type - k_in_tree); }

namespace detail {

inline std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(by);
    parts.emplace_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + by.size());
  }
}

}  // namespace detail

/// The in-tree plugins that CSI drivers took over on the node, as its CSINode says: bit i is k_in_tree[i].
inline std::uint32_t migrated_plugins(const berth_object_v1& csi_node) {
  const Pairs annotations = pairs(json(csi_node, csi_node_field::annotations));
  std::uint32_t bits = 0;
  if (const std::string* list = find(annotations, k_migrated_plugins))
    for (const std::string& name : detail::split(*list, ","))
      if (const InTree* type = in_tree_plugin(name)) bits |= bit_of(*type);
  return bits;
}

/// A handle, or why there is none.
struct Handle {
  std::string value, error;
};

inline constexpr std::string_view k_ga_zone = "topology.kubernetes.io/zone";
inline constexpr std::string_view k_beta_zone = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view k_ga_region = "topology.kubernetes.io/region";
inline constexpr std::string_view k_beta_region = "failure-domain.beta.kubernetes.io/region";

namespace detail {

inline Handle ebs_handle(const std::string& id) {
  if (id.substr(0, 6) != "aws://") return {id, {}};
  std::string_view path = std::string_view(id).substr(6);
  const std::size_t slash = path.find('/');
  path = slash == path.npos ? std::string_view() : path.substr(slash);
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (path.substr(0, 4) != "vol-" || path.find('/') != path.npos)
    return {{}, "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (" + id + ")"};
  return {std::string(path), {}};
}

inline Handle gce_handle(const std::string& disk, const Pairs* labels) {
  const std::string* zone = labels == nullptr ? nullptr : find(*labels, k_beta_zone);
  if (labels != nullptr && (zone == nullptr || zone->empty())) zone = find(*labels, k_ga_zone);
  if (zone == nullptr || zone->empty()) return {"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/" + disk, {}};
  const std::vector<std::string> zones = split(*zone, "__");
  if (zones.size() == 1) return {"projects/UNSPECIFIED/zones/" + *zone + "/disks/" + disk, {}};
  std::set<std::string> regions;
  for (const std::string& one : zones) {
    const std::vector<std::string> parts = split(one, "-");
    if (parts.size() != 3)
      return {{},
              "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: " +
                  one};
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() != 1) {
    // A set as Go prints one: a map without values.
    std::string got = "map[";
    for (const std::string& region : regions) got += (got.size() > 4 ? " " : "") + region + ":{}";
    return {{}, "failed to get region from zones: multiple or no regions gotten from zones, got: " + got + "]"};
  }
  return {"projects/UNSPECIFIED/regions/" + *regions.begin() + "/disks/" + disk, {}};
}

inline std::string member(const berth::Json& json, std::string_view key) { return json[key].string_or(key, ""); }

}  // namespace detail

/// The CSI handle of a volume of that type. labels: of the volume; nullptr for an entry of a pod.
inline Handle csi_handle(const InTree& type, const berth::Json& volume, const Pairs* labels) {
  const berth::Json& source = volume[type.source];
  if (type.source == "awsElasticBlockStore") return detail::ebs_handle(detail::member(source, "volumeID"));
  if (type.source == "gcePersistentDisk") return detail::gce_handle(detail::member(source, "pdName"), labels);
  if (type.source == "azureDisk") {
    const std::string kind = source["kind"].string_or("kind", "Managed");
    if (kind != "Managed") return {{}, "kind(" + kind + ") is not supported in csi migration"};
    return {detail::member(source, "diskURI"), {}};
  }
  return {detail::member(source, "volumeID"), {}};
}

/// Node affinity of a volume as its CSI driver would have it.
inline Terms csi_affinity(const InTree& type, const Volume& volume) {
  if (type.topology_key.empty()) return volume.affinity;
  std::vector<Term> terms = volume.affinity.value_or(std::vector<Term>{});
  const auto mentions = [&](std::string_view key) {
    for (const Term& term : terms)
      for (const Requirement& r : term.all)
        if (r.key == key) return true;
    return false;
  };
  const std::string* ga = find(volume.labels, k_ga_zone);
  const std::string* beta = find(volume.labels, k_beta_zone);
  const bool is_beta = !mentions(k_ga_zone) && (mentions(k_beta_zone) || (ga == nullptr && beta != nullptr));
  const std::string_view zone_key = is_beta ? k_beta_zone : k_ga_zone;
  const auto rename = [&](std::string_view from, std::string_view to) {
    for (Term& term : terms)
      for (Requirement& r : term.all)
        if (r.key == from) r.key = to;
  };
  bool has_values = false;
  for (const Term& term : terms)
    for (const Requirement& r : term.all) has_values |= r.key == zone_key && !r.values.empty();
  bool restricted = volume.affinity.has_value();
  if (has_values) {
    rename(zone_key, type.topology_key);
  } else if (const std::string* label = is_beta ? beta : ga; label != nullptr) {
    std::set<std::string> zones;
    for (std::string zone : detail::split(*label, "__")) {
      const std::size_t first = zone.find_first_not_of(" \t\n\v\f\r");
      if (first == zone.npos) continue;
      zones.insert(zone.substr(first, zone.find_last_not_of(" \t\n\v\f\r") - first + 1));
    }
    if (!zones.empty()) {
      if (terms.empty()) terms.emplace_back();
      for (Term& term : terms) {
        Requirement& r = term.all.emplace_back();
        r.key = type.topology_key;
        r.values.assign(zones.begin(), zones.end());
      }
      restricted = true;
    }
  }
  if (is_beta && mentions(k_beta_region)) rename(k_beta_region, k_ga_region);
  if (!restricted) return std::nullopt;
  return terms;
}

}  // namespace storage
