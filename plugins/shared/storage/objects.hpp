// SPDX-License-Identifier: Apache-2.0
/// Storage objects as policies read them: which fields are watched, and values made from them.
///
/// All policies declare the same watches, so the host keeps one projection of each object. Reading parses JSON: do it
/// once per pod or once per change, never per node.
#pragma once
#include "terms.hpp"

#include <array>

namespace storage {

inline constexpr std::string_view k_claims = "core/v1/persistentvolumeclaims";
inline constexpr std::string_view k_volumes = "core/v1/persistentvolumes";
inline constexpr std::string_view k_classes = "storage.k8s.io/v1/storageclasses";
inline constexpr std::string_view k_csi_nodes = "storage.k8s.io/v1/csinodes";
inline constexpr std::string_view k_csi_drivers = "storage.k8s.io/v1/csidrivers";
inline constexpr std::string_view k_capacities = "storage.k8s.io/v1/csistoragecapacities";
inline constexpr std::string_view k_attachments = "storage.k8s.io/v1/volumeattachments";

inline constexpr std::string_view k_bind_completed = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view k_bound_by_controller = "pv.kubernetes.io/bound-by-controller";
inline constexpr std::string_view k_selected_node = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view k_beta_class = "volume.beta.kubernetes.io/storage-class";
inline constexpr std::string_view k_migrated_plugins = "storage.alpha.kubernetes.io/migrated-plugins";
inline constexpr std::string_view k_no_provisioner = "kubernetes.io/no-provisioner";

constexpr berth_field_v1 field(std::string_view path, std::uint32_t type) {
  return {berth_str{path.data(), path.size()}, type, 0};
}

/// One field of an object: empty and 0 when it is not there.
inline std::string_view text(const berth_object_v1& object, std::size_t field) {
  return object.values[field].present != 0 ? berth::view(object.values[field].text) : std::string_view();
}
inline berth::Json json(const berth_object_v1& object, std::size_t field) {
  const std::string_view source = text(object, field);
  return source.empty() ? berth::Json() : berth::Json::parse(source);
}
inline std::int64_t number(const berth_object_v1& object, std::size_t field) {
  return object.values[field].present != 0 ? object.values[field].number : 0;
}
inline bool present(const berth_object_v1& object, std::size_t field) { return object.values[field].present != 0; }

using Pairs = std::vector<std::pair<std::string, std::string>>;
inline Pairs pairs(const berth::Json& json) {
  Pairs out;
  for (const auto& [key, value] : json.members())
    if (value.is_string()) out.emplace_back(key, value.string(key));
  return out;
}
inline const std::string* find(const Pairs& pairs, std::string_view key) {
  for (const auto& [name, value] : pairs)
    if (name == key) return &value;
  return nullptr;
}
inline std::vector<std::string> strings(const berth::Json& json) {
  std::vector<std::string> out;
  for (const berth::Json& item : json.items())
    if (item.is_string()) out.push_back(item.string("item"));
  return out;
}

// --- claims ------------------------------------------------------------------------------------------------------

namespace claim_field {
enum {
  volume,
  class_name,
  phase,
  deleted,
  annotations,
  modes,
  request,
  mode,
  attributes,
  selector,
  owners,
  version,
  count
};
}
inline constexpr std::array<berth_field_v1, claim_field::count> k_claim_fields = {
    field("spec.volumeName", BERTH_FIELD_STR),
    field("spec.storageClassName", BERTH_FIELD_STR),
    field("status.phase", BERTH_FIELD_STR),
    field("metadata.deletionTimestamp", BERTH_FIELD_STR),
    field("metadata.annotations", BERTH_FIELD_JSON),
    field("spec.accessModes", BERTH_FIELD_JSON),
    field("spec.resources.requests.storage", BERTH_FIELD_QUANTITY),
    field("spec.volumeMode", BERTH_FIELD_STR),
    field("spec.volumeAttributesClassName", BERTH_FIELD_STR),
    field("spec.selector", BERTH_FIELD_JSON),
    field("metadata.ownerReferences", BERTH_FIELD_JSON),
    field("metadata.resourceVersion", BERTH_FIELD_STR),
};

struct Claim {
  std::string ns, name, uid;
  std::uint64_t version = 0;  // the host's counter
  std::string resource_version;
  std::string volume, class_name, phase, mode, attributes;
  Pairs annotations;
  std::vector<std::string> modes;
  std::int64_t request = 0;  // bytes
  bool has_request = false;
  bool deleted = false;
  bool has_selector = false;
  Term selector;
  std::string owner_uid;  // of the controller

  std::string key() const { return ns + "/" + name; }
  bool bound() const { return !volume.empty() && find(annotations, k_bind_completed) != nullptr; }
};

inline Claim read_claim(const berth_object_v1& object) {
  namespace f = claim_field;
  Claim claim;
  claim.ns = berth::view(object.ns);
  claim.name = berth::view(object.name);
  claim.uid = berth::view(object.uid);
  claim.version = object.version;
  claim.resource_version = text(object, f::version);
  claim.volume = text(object, f::volume);
  claim.phase = text(object, f::phase);
  claim.mode = text(object, f::mode);
  claim.attributes = text(object, f::attributes);
  claim.annotations = pairs(json(object, f::annotations));
  const std::string* beta = find(claim.annotations, k_beta_class);
  claim.class_name = beta != nullptr ? *beta : std::string(text(object, f::class_name));
  claim.modes = strings(json(object, f::modes));
  claim.request = number(object, f::request);
  claim.has_request = present(object, f::request);
  claim.deleted = present(object, f::deleted);
  claim.has_selector = present(object, f::selector);
  if (claim.has_selector) claim.selector = parse_label_selector(json(object, f::selector));
  const berth::Json owners = json(object, f::owners);
  for (const berth::Json& owner : owners.items())
    if (owner["controller"].boolean_or("controller", false)) claim.owner_uid = owner["uid"].string_or("uid", "");
  return claim;
}

inline std::string not_owner(std::string_view ns, std::string_view claim, std::string_view pod) {
  return "PVC " + std::string(ns) + "/" + std::string(claim) + " was not created for pod " + std::string(ns) + "/" +
         std::string(pod) + " (pod is not owner)";
}
inline std::string claim_not_found(std::string_view name) {
  return "persistentvolumeclaim \"" + std::string(name) + "\" not found";
}

// --- volumes -----------------------------------------------------------------------------------------------------

namespace volume_field {
enum { spec, capacity, claim_ref, labels, annotations, phase, deleted, version, count };
}
inline constexpr std::array<berth_field_v1, volume_field::count> k_volume_fields = {
    field("spec", BERTH_FIELD_JSON),
    field("spec.capacity.storage", BERTH_FIELD_QUANTITY),
    field("spec.claimRef", BERTH_FIELD_JSON),
    field("metadata.labels", BERTH_FIELD_JSON),
    field("metadata.annotations", BERTH_FIELD_JSON),
    field("status.phase", BERTH_FIELD_STR),
    field("metadata.deletionTimestamp", BERTH_FIELD_STR),
    field("metadata.resourceVersion", BERTH_FIELD_STR),
};

struct ClaimRef {
  bool present = false;
  std::string ns, name, uid;
};
struct Volume {
  std::string name;
  std::uint64_t version = 0;
  std::string resource_version;
  berth::Json spec;  // as it stands; claim_ref wins over its claimRef
  std::string class_name, phase, mode, attributes;
  std::int64_t capacity = 0;  // bytes
  std::vector<std::string> modes;
  ClaimRef claim_ref;
  Pairs labels, annotations;
  bool deleted = false;
  Terms affinity;

  /// Reserved for that claim: same name, and the same uid where the volume names one.
  bool is_for(const Claim& claim) const {
    return claim_ref.present && claim_ref.name == claim.name && claim_ref.ns == claim.ns &&
           (claim_ref.uid.empty() || claim_ref.uid == claim.uid);
  }
};

inline Volume read_volume(const berth_object_v1& object) {
  namespace f = volume_field;
  Volume volume;
  volume.name = berth::view(object.name);
  volume.version = object.version;
  volume.resource_version = text(object, f::version);
  volume.spec = json(object, f::spec);
  volume.capacity = number(object, f::capacity);
  volume.phase = text(object, f::phase);
  volume.deleted = present(object, f::deleted);
  volume.labels = pairs(json(object, f::labels));
  volume.annotations = pairs(json(object, f::annotations));
  volume.mode = volume.spec["volumeMode"].string_or("volumeMode", "");
  volume.attributes = volume.spec["volumeAttributesClassName"].string_or("volumeAttributesClassName", "");
  const std::string* beta = find(volume.annotations, k_beta_class);
  volume.class_name = beta != nullptr ? *beta : volume.spec["storageClassName"].string_or("storageClassName", "");
  volume.modes = strings(volume.spec["accessModes"]);
  const berth::Json ref = json(object, f::claim_ref);
  if (ref.is_object())
    volume.claim_ref = {true, ref["namespace"].string_or("namespace", ""), ref["name"].string_or("name", ""),
                        ref["uid"].string_or("uid", "")};
  volume.affinity = parse_node_terms(volume.spec["nodeAffinity"]["required"]);
  return volume;
}

// --- classes -----------------------------------------------------------------------------------------------------

namespace class_field {
enum { provisioner, binding_mode, topologies, count };
}
inline constexpr std::array<berth_field_v1, class_field::count> k_class_fields = {
    field("provisioner", BERTH_FIELD_STR),
    field("volumeBindingMode", BERTH_FIELD_STR),
    field("allowedTopologies", BERTH_FIELD_JSON),
};

// --- CSI nodes ---------------------------------------------------------------------------------------------------

namespace csi_node_field {
enum { drivers, annotations, count };
}
inline constexpr std::array<berth_field_v1, csi_node_field::count> k_csi_node_fields = {
    field("spec.drivers", BERTH_FIELD_JSON),
    field("metadata.annotations", BERTH_FIELD_JSON),
};

// --- what pods say -----------------------------------------------------------------------------------------------

/// True when a waiting pod names that claim, itself or through an ephemeral volume.
inline bool names_claim(berth::Pod pod, std::string_view claim) {
  for (const berth_volume_v1& volume : pod.volumes())
    if ((volume.kind == BERTH_VOLUME_CLAIM || volume.kind == BERTH_VOLUME_EPHEMERAL) &&
        berth::view(volume.source) == claim)
      return true;
  return false;
}

}  // namespace storage
