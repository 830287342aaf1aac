// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/protobuf_writer.hpp"

/// Objects that are full of one thing, for each kind that scheduling knows: what a size costs must not depend on of what
/// it is.
namespace berth::bench {

/// An object that is full of one thing: `before`, then `item` as often as it takes, each with its number in the place of
/// every '#', then `after`.
struct Shape {
  std::string_view kind, name, before, item, after;
};

inline constexpr std::string_view k_pod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"u","resourceVersion":"1")";
inline constexpr std::string_view k_node =
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","resourceVersion":"1")";
inline constexpr std::string_view k_claim =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"d","uid":"u")";
inline constexpr std::string_view k_slice =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s")";

inline constexpr std::string_view k_service =
    R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"d","uid":"u")";
inline constexpr std::string_view k_replica_set =
    R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","namespace":"d","uid":"u")";
inline constexpr std::string_view k_stateful_set =
    R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"r","namespace":"d","uid":"u")";
inline constexpr std::string_view k_volume =
    R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v","uid":"u")";
inline constexpr std::string_view k_volume_claim =
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"d","uid":"u")";
inline constexpr std::string_view k_csi_node =
    R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n","uid":"u")";
inline constexpr std::string_view k_capacity =
    R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"c","namespace":"d","uid":"u")";
inline constexpr std::string_view k_storage_class =
    R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"c","uid":"u")";
inline constexpr std::string_view k_budget =
    R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"d","uid":"u")";
inline constexpr std::string_view k_namespace =
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","uid":"u")";

inline constexpr Shape k_shapes[] = {
    {k_pod, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "annotations", R"(,"annotations":{)", R"("l#":"v#")", R"(}},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "owners", R"(,"ownerReferences":[)", R"({"apiVersion":"v1","kind":"X","name":"o#","uid":"u#"})",
     R"(]},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "containers", R"(},"spec":{"containers":[)", R"({"name":"c#","image":"i#"})", R"(]}})"},
    {k_pod, "containers' requests", R"(},"spec":{"containers":[)",
     R"({"name":"c#","resources":{"requests":{"cpu":"1m","memory":"1Mi"},"limits":{"memory":"2Mi"}}})", R"(]}})"},
    {k_pod, "requests", R"(},"spec":{"containers":[{"name":"c","resources":{"requests":{)", R"("x.io/r#":"#")",
     R"(}}}]}})"},
    {k_pod, "init containers", R"(},"spec":{"containers":[{"name":"c"}],"initContainers":[)",
     R"({"name":"c#","restartPolicy":"Always","resources":{"requests":{"cpu":"1m"}}})", R"(]}})"},
    {k_pod, "ports", R"(},"spec":{"containers":[{"name":"c","ports":[)", R"({"containerPort":80,"hostPort":#})",
     R"(]}]}})"},
    {k_pod, "environment", R"(},"spec":{"containers":[{"name":"c","env":[)", R"({"name":"E#","value":"v"})",
     R"(]}]}})"},
    {k_pod, "tolerations", R"(},"spec":{"containers":[{"name":"c"}],"tolerations":[)",
     R"({"key":"k#","operator":"Exists","effect":"NoSchedule"})", R"(]}})"},
    {k_pod, "node selector", R"(},"spec":{"containers":[{"name":"c"}],"nodeSelector":{)", R"("k#":"v#")", R"(}}})"},
    {k_pod, "node terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)",
     R"({"matchExpressions":[{"key":"k#","operator":"In","values":["v#"]}]})", R"(]}}}}})"},
    {k_pod, "values of a node term",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)",
     R"("v#")", R"(]}]}]}}}}})"},
    {k_pod, "anti-affinity terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)",
     R"({"topologyKey":"k","labelSelector":{"matchLabels":{"a":"v#"}}})", R"(]}}}})"},
    {k_pod, "spread constraints", R"(},"spec":{"containers":[{"name":"c"}],"topologySpreadConstraints":[)",
     R"({"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b"}}})",
     R"(]}})"},
    {k_pod, "volumes of claims", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"v#","persistentVolumeClaim":{"claimName":"c#"}})", R"(]}})"},
    {k_pod, "volumes of secrets", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"v#","secret":{"secretName":"c#"}})", R"(]}})"},
    {k_pod, "inline volumes", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"v#","csi":{"driver":"d"}})", R"(]}})"},
    {k_pod, "gates", R"(},"spec":{"containers":[{"name":"c"}],"schedulingGates":[)", R"({"name":"g.io/#"})", R"(]}})"},
    {k_pod, "claims", R"(},"spec":{"containers":[{"name":"c"}],"resourceClaims":[)",
     R"({"name":"c#","resourceClaimName":"r#"})", R"(]}})"},
    {k_pod, "conditions", R"(},"spec":{"containers":[{"name":"c"}]},"status":{"conditions":[)",
     R"({"type":"T#","status":"True"})", R"(]}})"},
    {k_pod, "container statuses", R"(},"spec":{"containers":[{"name":"c"}]},"status":{"containerStatuses":[)",
     R"({"name":"c#","ready":true,"restartCount":1,"image":"i"})", R"(]}})"},
    {k_pod, "claim statuses", R"(},"spec":{"containers":[{"name":"c"}]},"status":{"resourceClaimStatuses":[)",
     R"({"name":"c#","resourceClaimName":"r#"})", R"(]}})"},
    {k_pod, "short labels", R"(,"labels":{)", R"("#":"")", R"(}},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "short requests", R"(},"spec":{"containers":[{"name":"c","resources":{"requests":{)", R"("#":"1")",
     R"(}}}]}})"},
    {k_pod, "short limits", R"(},"spec":{"containers":[{"name":"c","resources":{"limits":{)", R"("#":"1")",
     R"(}}}]}})"},
    {k_pod, "overhead", R"(},"spec":{"containers":[{"name":"c"}],"overhead":{)", R"("#":"1")", R"(}}})"},
    {k_pod, "requests in many containers", R"(},"spec":{"containers":[)",
     R"({"name":"#","resources":{"requests":{"x.io/#":"1"}}})", R"(]}})"},
    {k_pod, "restartable init containers", R"(},"spec":{"containers":[{"name":"c"}],"initContainers":[)",
     R"({"name":"#","restartPolicy":"Always","resources":{"requests":{"x.io/#":"1"}}})", R"(]}})"},
    {k_pod, "short containers", R"(},"spec":{"containers":[)", R"({"name":"#"})", R"(]}})"},
    {k_pod, "short tolerations", R"(},"spec":{"containers":[{"name":"c"}],"tolerations":[)", R"({"key":"#"})",
     R"(]}})"},
    {k_pod, "preferred node terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)",
     R"({"weight":1,"preference":{"matchExpressions":[{"key":"#","operator":"Exists"}]}})", R"(]}}}})"},
    {k_pod, "preferred affinity terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)",
     R"({"weight":1,"podAffinityTerm":{"topologyKey":"#","labelSelector":{}}})", R"(]}}}})"},
    {k_pod, "expressions of one affinity term",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{"matchExpressions":[)",
     R"({"key":"#","operator":"Exists"})", R"(]}}]}}}})"},
    {k_pod, "short inline volumes", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"#","csi":{"driver":"#"}})", R"(]}})"},
    {k_pod, "ephemeral volumes", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"#","ephemeral":{"volumeClaimTemplate":{"spec":{}}}})", R"(]}})"},
    {k_pod, "requests of container statuses",
     R"(},"spec":{"containers":[{"name":"c"}]},"status":{"containerStatuses":[{"name":"c","resources":{"requests":{)",
     R"("#":"1")", R"(}}}]}})"},
    {k_node, "short allocatable", R"(},"status":{"allocatable":{)", R"("#":"1")", R"(}}})"},
    {k_node, "short labels", R"(,"labels":{)", R"("#":"")", R"(}}})"},
    {k_node, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}}})"},
    {k_node, "annotations", R"(,"annotations":{)", R"("l#":"v#")", R"(}}})"},
    {k_node, "taints", R"(},"spec":{"taints":[)", R"({"key":"k#","effect":"NoSchedule"})", R"(]}})"},
    {k_node, "allocatable", R"(},"status":{"allocatable":{)", R"("x.io/r#":"#")", R"(}}})"},
    {k_node, "images", R"(},"status":{"images":[)", R"({"names":["i.io/#:1"],"sizeBytes":1000})", R"(]}})"},
    {k_node, "conditions", R"(},"status":{"conditions":[)", R"({"type":"T#","status":"True"})", R"(]}})"},
    {k_node, "addresses", R"(},"status":{"addresses":[)", R"({"type":"InternalIP","address":"a#"})", R"(]}})"},
    {k_node, "volumes attached", R"(},"status":{"volumesAttached":[)", R"({"name":"v#","devicePath":""})", R"(]}})"},
    {k_claim, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}}})"},
    {k_claim, "requests", R"(},"spec":{"devices":{"requests":[)",
     R"({"name":"r#","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}})", R"(]}}})"},
    {k_claim, "selectors",
     R"(},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","selectors":[)",
     R"({"cel":{"expression":"device.driver == \"d#\""}})", R"(]}}]}}})"},
    {k_claim, "results", R"(},"status":{"allocation":{"devices":{"results":[)",
     R"({"request":"r","driver":"d.io","pool":"p","device":"d#"})", R"(]}}}})"},
    {k_claim, "consumers", R"(},"status":{"reservedFor":[)", R"({"resource":"pods","name":"p#","uid":"u#"})", R"(]}})"},
    {k_slice, "devices",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[)",
     R"({"name":"d#","attributes":{"model":{"string":"m#"}},"capacity":{"memory":{"value":"1Gi"}}})", R"(]}})"},
    {k_slice, "attributes",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"d","attributes":{)",
     R"("a#":{"int":#})", R"(}}]}})"},
    {k_slice, "counters",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","sharedCounters":[{"name":"s","counters":{)",
     R"("c#":{"value":"#"})", R"(}}]}})"},
    {k_slice, "taints",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"d","taints":[)",
     R"({"key":"k#","effect":"NoSchedule"})", R"(]}]}})"},
    {k_pod, "managed fields", R"(,"managedFields":[)",
     R"({"manager":"m#","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}})",
     R"(]},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "fields of one manager", R"(,"managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{)",
     R"("f:#":{})", R"(}}]},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "nested fields of one manager",
     R"(,"managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{"f:a":{)", R"("k:{\"n\":\"#\"}":{".":{}})",
     R"(}}}]},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "finalizers", R"(,"finalizers":[)", R"("f.io/#")", R"(]},"spec":{"containers":[{"name":"c"}]}})"},
    {k_node, "managed fields", R"(,"managedFields":[)",
     R"({"manager":"m#","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}})",
     R"(]}})"},
    {k_node, "volumes in use", R"(},"status":{"volumesInUse":[)", R"("kubernetes.io/csi/d^v#")", R"(]}})"},
    {k_service, "selector", R"(},"spec":{"selector":{)", R"("l#":"v#")", R"(}}})"},
    {k_service, "short selector", R"(},"spec":{"selector":{)", R"("#":"")", R"(}}})"},
    {k_service, "ports", R"(},"spec":{"ports":[)", R"({"name":"p#","port":80})", R"(]}})"},
    {k_replica_set, "labels of the selector", R"(},"spec":{"selector":{"matchLabels":{)", R"("l#":"v#")", R"(}}}})"},
    {k_replica_set, "expressions of the selector", R"(},"spec":{"selector":{"matchExpressions":[)",
     R"({"key":"k#","operator":"In","values":["v"]})", R"(]}}})"},
    {k_replica_set, "labels of the template", R"(},"spec":{"selector":{},"template":{"metadata":{"labels":{)",
     R"("l#":"v#")", R"(}}}}})"},
    {k_stateful_set, "labels of the selector", R"(},"spec":{"selector":{"matchLabels":{)", R"("l#":"v#")", R"(}}}})"},
    {k_volume, "node terms", R"(},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[)",
     R"({"matchExpressions":[{"key":"k#","operator":"In","values":["v#"]}]})", R"(]}}}})"},
    {k_volume, "values of a node term",
     R"(},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)",
     R"("v#")", R"(]}]}]}}}})"},
    {k_volume, "annotations", R"(,"annotations":{)", R"("l#":"v#")", R"(}}})"},
    {k_volume_claim, "annotations", R"(,"annotations":{)", R"("l#":"v#")", R"(}}})"},
    {k_volume_claim, "access modes", R"(},"spec":{"accessModes":[)", R"("M#")", R"(]}})"},
    {k_csi_node, "drivers", R"(},"spec":{"drivers":[)", R"({"name":"d#","nodeID":"n","allocatable":{"count":#}})",
     R"(]}})"},
    {k_csi_node, "topology keys of a driver", R"(},"spec":{"drivers":[{"name":"d","nodeID":"n","topologyKeys":[)",
     R"("k.io/#")", R"(]}]}})"},
    {k_capacity, "labels of the topology",
     R"(},"storageClassName":"c","capacity":"1Gi","nodeTopology":{"matchLabels":{)", R"("l#":"v#")", R"(}}})"},
    {k_capacity, "expressions of the topology",
     R"(},"storageClassName":"c","capacity":"1Gi","nodeTopology":{"matchExpressions":[)",
     R"({"key":"k#","operator":"Exists"})", R"(]}})"},
    {k_storage_class, "parameters", R"(},"provisioner":"p.io","parameters":{)", R"("l#":"v#")", R"(}})"},
    {k_storage_class, "allowed topologies", R"(},"provisioner":"p.io","allowedTopologies":[)",
     R"({"matchLabelExpressions":[{"key":"k#","values":["v#"]}]})", R"(]})"},
    {k_budget, "labels of the selector", R"(},"spec":{"selector":{"matchLabels":{)", R"("l#":"v#")", R"(}}}})"},
    {k_budget, "disrupted pods", R"(},"status":{"disruptedPods":{)", R"("p#":"2026-01-02T03:04:05Z")", R"(}}})"},
    {k_namespace, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}}})"},
};

/// As an event of a watch.
inline std::string event_of(const Shape& shape, std::size_t items) {
  std::string out = R"({"type":"ADDED","object":)";
  out.append(shape.kind).append(shape.before);
  for (std::size_t i = 0; i < items; ++i) {
    if (i != 0) out += ',';
    for (const char c : shape.item) c == '#' ? void(out.append(std::to_string(i + 1))) : out.push_back(c);
  }
  return out.append(shape.after).append("}\n");
}

inline std::string encoded(const Shape& shape, std::size_t items, bool as_protobuf) {
  std::string json = event_of(shape, items);
  if (!as_protobuf) return json;
  std::optional<std::string> frames = tests::to_protobuf_frames(json);
  if (!frames) throw std::runtime_error(std::string(shape.name) + " has no protobuf");
  return *std::move(frames);
}

/// Whether the items are in what is encoded: the test server's protobuf leaves managed fields out, for one.
inline bool has_items(const Shape& shape, bool as_protobuf) {
  return encoded(shape, 1000, as_protobuf).size() > encoded(shape, 1, as_protobuf).size();
}

/// So many items that what is encoded has about that size. Requires: has_items().
inline std::size_t items_of(const Shape& shape, std::size_t bytes, bool as_protobuf) {
  std::size_t items = 1000;
  for (int i = 0; i < 3; ++i)
    items = std::max<std::size_t>(1, items * bytes / encoded(shape, items, as_protobuf).size());
  return items;
}

/// "Pod: labels".
inline std::string name_of(const Shape& shape) {
  const std::size_t kind = shape.kind.find(R"("kind":")") + 8;
  return std::string(shape.kind.substr(kind, shape.kind.find('"', kind) - kind)) + ": " + std::string(shape.name);
}

}  // namespace berth::bench
