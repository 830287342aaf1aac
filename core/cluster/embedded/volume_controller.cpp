// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/volume_controller.hpp"

#include <spdlog/fmt/fmt.h>

#include <optional>

#include "base/check.hpp"
#include "text/parse.hpp"

namespace berth::cluster {
namespace {

using Change = VolumeController::Change;
using Cluster = VolumeController::Cluster;

std::string json_quoted(std::string_view text) {
  std::string out;
  text::append_json_string(out, text);
  return out;
}

/// An object's JSON, parsed.
class Parsed {
 public:
  explicit Parsed(const model::Object& object) {
    text::Diagnostics diagnostics;
    documents_ = text::parse_json(object.json, object.name, diagnostics);
    BERTH_CHECK(documents_.size() == 1, "{}/{} is kept as JSON that does not parse", object.resource, object.name);
  }
  const text::Value& root() const { return documents_.front().root(); }
  std::string text(std::string_view path) const { return std::string(root().text_at(path)); }
  /// Annotations have dots in their keys.
  std::optional<std::string> annotation(std::string_view key) const {
    const text::Value* all = root().find_path("metadata.annotations");
    const text::Value* value = all == nullptr ? nullptr : all->find(key);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return std::string(value->text());
  }
  std::string json(std::string_view path, std::string_view otherwise) const {
    const text::Value* value = root().find_path(path);
    return value == nullptr || value->is_null() ? std::string(otherwise) : text::to_json(*value);
  }
  std::string patched(const std::string& patch) const {
    text::Diagnostics diagnostics;
    const auto change = text::parse_json(patch, "patch", diagnostics);
    BERTH_CHECK(change.size() == 1, "a patch of the volume controller does not parse: {}", patch);
    return text::merge_json(&root(), change.front().root());
  }

 private:
  std::vector<text::Document> documents_;
};

Change changed(const model::Object& object, std::string json) {
  return {object.resource, object.ns, object.name, object.uid, std::move(json)};
}

/// Both sides as they are when they are bound to each other; nothing when they are already, or claim another.
std::vector<Change> bind(const model::Object& volume, const model::Object& claim) {
  const Parsed pv(volume), pvc(claim);
  const std::string wanted_uid = pv.text("spec.claimRef.uid");
  const std::string wanted_volume = pvc.text("spec.volumeName");
  if (!wanted_uid.empty() && wanted_uid != claim.uid) return {};
  if (!wanted_volume.empty() && wanted_volume != volume.name) return {};
  std::vector<Change> changes;
  if (pv.text("status.phase") != "Bound" || wanted_uid.empty())
    changes.push_back(changed(
        volume,
        pv.patched(fmt::format(
            R"({{"spec":{{"claimRef":{{"kind":"PersistentVolumeClaim","apiVersion":"v1","namespace":{},"name":{},"uid":{}}}}},)"
            R"("status":{{"phase":"Bound"}}}})",
            json_quoted(claim.ns), json_quoted(claim.name), json_quoted(claim.uid)))));
  if (wanted_volume.empty() || !pvc.annotation("pv.kubernetes.io/bind-completed") ||
      pvc.text("status.phase") != "Bound")
    changes.push_back(changed(
        claim,
        pvc.patched(fmt::format(
            R"({{"metadata":{{"annotations":{{"pv.kubernetes.io/bind-completed":"yes"{}}}}},"spec":{{"volumeName":{}}},)"
            R"("status":{{"phase":"Bound","accessModes":{},"capacity":{}}}}})",
            wanted_volume.empty() ? R"(,"pv.kubernetes.io/bound-by-controller":"yes")" : "", json_quoted(volume.name),
            pv.json("spec.accessModes", "[]"), pv.json("spec.capacity", "{}")))));
  return changes;
}

/// Terms for the topology keys that the driver has on the node; empty: usable everywhere.
std::string topology(const Cluster& cluster, std::string_view driver, const std::string& node) {
  const model::ObjectPtr csi_node = cluster.find("storage.k8s.io/v1/csinodes", "", node);
  if (csi_node == nullptr) return {};
  const Parsed parsed(*csi_node);
  const text::Value* drivers = parsed.root().find_path("spec.drivers");
  if (drivers == nullptr) return {};
  std::string expressions;
  for (const text::Value& entry : drivers->elements()) {
    const text::Value* name = entry.find("name");
    const text::Value* keys = entry.find("topologyKeys");
    if (name == nullptr || name->text() != driver || keys == nullptr) continue;
    for (const text::Value& key : keys->elements())
      expressions += fmt::format(R"({}{{"key":{},"operator":"In","values":[{}]}})", expressions.empty() ? "" : ",",
                                 json_quoted(key.text()), json_quoted(cluster.node_label(node, key.text())));
  }
  if (expressions.empty()) return {};
  return fmt::format(R"(,"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{}]}}]}}}})",
                     expressions);
}

std::vector<Change> provision(const model::Object& claim, const Cluster& cluster) {
  const Parsed pvc(claim);
  const auto node = pvc.annotation("volume.kubernetes.io/selected-node");
  if (!node || node->empty() || claim.uid.empty()) return {};
  const auto beta = pvc.annotation("volume.beta.kubernetes.io/storage-class");
  const std::string class_name = beta ? *beta : pvc.text("spec.storageClassName");
  const model::ObjectPtr storage_class = cluster.find("storage.k8s.io/v1/storageclasses", "", class_name);
  if (storage_class == nullptr) return {};
  const std::string driver = Parsed(*storage_class).text("provisioner");
  if (driver.empty() || driver == "kubernetes.io/no-provisioner") return {};
  const std::string name = "pvc-" + claim.uid;
  if (cluster.find(k_volumes, "", name) != nullptr) return {};
  model::Object volume;
  volume.resource = k_volumes;
  volume.name = name;
  volume.uid = "uid-of-" + name;
  volume.json = fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":{0},"uid":{1},"annotations":)"
      R"({{"pv.kubernetes.io/provisioned-by":{2}}}}},"spec":{{"storageClassName":{3},"accessModes":{4},"capacity":{5},)"
      R"("volumeMode":{6},"persistentVolumeReclaimPolicy":"Delete","csi":{{"driver":{2},"volumeHandle":{0}}}{7}}},)"
      R"("status":{{"phase":"Available"}}}})",
      json_quoted(name), json_quoted(volume.uid), json_quoted(driver), json_quoted(class_name),
      pvc.json("spec.accessModes", "[]"), pvc.json("spec.resources.requests", "{}"),
      pvc.json("spec.volumeMode", "\"Filesystem\""), topology(cluster, driver, *node));
  return bind(volume, claim);
}

}  // namespace

std::string VolumeController::claim_of(const model::Object& volume) {
  const Parsed pv(volume);
  const std::string name = pv.text("spec.claimRef.name");
  return name.empty() ? std::string() : pv.text("spec.claimRef.namespace") + "/" + name;
}

std::vector<Change> VolumeController::react(const model::Object& object, const Cluster& cluster) {
  if (object.resource == k_volumes) {
    const Parsed pv(object);
    const std::string name = pv.text("spec.claimRef.name");
    if (name.empty()) return {};
    const model::ObjectPtr claim = cluster.find(k_claims, pv.text("spec.claimRef.namespace"), name);
    return claim == nullptr ? std::vector<Change>{} : bind(object, *claim);
  }
  if (object.resource != k_claims) return {};
  const Parsed pvc(object);
  std::string volume_name = pvc.text("spec.volumeName");
  if (volume_name.empty()) volume_name = cluster.volume_for(object.ns, object.name);
  if (volume_name.empty()) return provision(object, cluster);
  const model::ObjectPtr volume = cluster.find(k_volumes, "", volume_name);
  if (volume == nullptr) return {};
  const std::string claimed_by = claim_of(*volume);
  if (!claimed_by.empty() && claimed_by != object.ns + "/" + object.name) return {};
  return bind(*volume, object);
}

}  // namespace berth::cluster
