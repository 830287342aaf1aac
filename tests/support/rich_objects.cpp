// SPDX-License-Identifier: Apache-2.0
#include "support/rich_objects.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_pod = R"({
 "apiVersion":"v1","kind":"Pod",
 "metadata":{"name":"NAME","namespace":"NS","labels":{"app":"web","empty":""},"annotations":{"note":"näher\n\"so\""},
  "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"0b1c","controller":true}]},
 "spec":{
  "schedulerName":"another-scheduler","serviceAccountName":"default","priority":0,"nodeSelector":{"disk":"ssd"},"terminationGracePeriodSeconds":7,
  "initContainers":[{"name":"side","image":"localhost:5000/side","restartPolicy":"Always",
   "resources":{"requests":{"cpu":"1500m","memory":"0.5Gi"},"limits":{"cpu":"2"}}}],
  "containers":[{"name":"c","image":"web@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
   "command":["sh","-c","true"],"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
   "ports":[{"containerPort":80,"hostPort":8080,"hostIP":"10.0.0.1"},{"name":"dns","containerPort":53,"protocol":"UDP"}],
   "resources":{"requests":{"cpu":"100m","memory":"64Mi","example.com/gpu":"2"},"limits":{"example.com/gpu":"2"}},
   "livenessProbe":{"httpGet":{"path":"/","port":"dns"},"periodSeconds":5},
   "readinessProbe":{"tcpSocket":{"port":80}},
   "volumeMounts":[{"name":"data","mountPath":"/data"}],"securityContext":{"runAsUser":0,"runAsNonRoot":false}}],
  "volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"claim","readOnly":true}},
   {"name":"own","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}},
   {"name":"disk","gcePersistentDisk":{"pdName":"pd","readOnly":true}},{"name":"tmp","emptyDir":{}},
   {"name":"all","projected":{"sources":[{"configMap":{"name":"cm"}},{"serviceAccountToken":{"path":"t","expirationSeconds":3607}}]}}],
  "tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":0},{"operator":"Exists"}],
  "schedulingGates":[{"name":"example.com/wait"}],
  "topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":3,
   "labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["hash"],"nodeTaintsPolicy":"Honor"}],
  "affinity":{
   "nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[
     {"key":"zone","operator":"In","values":["a","b"]}],"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["x"]}]}]},
    "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":3,"preference":{"matchExpressions":[{"key":"cores","operator":"Gt","values":["7"]}]}}]},
   "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{},"namespaceSelector":{}}]},
   "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":{"topologyKey":"rack",
     "namespaces":["other"],"labelSelector":{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}}}]}}}})";

constexpr const char* k_node = R"({
 "apiVersion":"v1","kind":"Node","metadata":{"name":"NAME","labels":{"zone":"a"}},
 "spec":{"unschedulable":true,"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24"],"taints":[{"key":"k","effect":"NoSchedule"},
  {"key":"l","value":"v","effect":"NoExecute"}]},
 "status":{"capacity":{"cpu":"8","memory":"16Gi","pods":"110"},
  "allocatable":{"cpu":"7900m","memory":"15Gi","ephemeral-storage":"100G","pods":"110","example.com/gpu":"4"},
  "conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:05Z","lastTransitionTime":"1969-12-31T23:59:59Z"}],
  "images":[{"names":["web:1","web:2"],"sizeBytes":123456789012},{"names":["none:1"]}],
  "nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"",
   "kubeletVersion":"v1.36.0","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"}}})";

constexpr const char* k_volume = R"({
 "apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"NAME"},
 "spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"NAME","volumeMode":"Block",
  "csi":{"driver":"csi.example.com","volumeHandle":"h","readOnly":true,"volumeAttributes":{"a":""}},
  "claimRef":{"namespace":"NS","name":"claim"},"persistentVolumeReclaimPolicy":"Retain",
  "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]}}}})";

constexpr const char* k_claim = R"({
 "apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"NAME","namespace":"NS"},
 "spec":{"accessModes":["ReadWriteOnce","ReadOnlyMany"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"",
  "selector":{"matchExpressions":[{"key":"a","operator":"In","values":["b","c"]}]},"volumeName":"NAME"}})";

constexpr const char* k_service = R"({
 "apiVersion":"v1","kind":"Service","metadata":{"name":"NAME","namespace":"NS"},
 "spec":{"selector":{"app":"web"},"ports":[{"name":"a","port":80,"targetPort":"http"},{"name":"b","port":81,"targetPort":8081}]}})";

constexpr const char* k_set = R"({
 "apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"NAME","namespace":"NS"},
 "spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
  "spec":{"containers":[{"name":"c","image":"i"}]}}}})";

constexpr const char* k_budget = R"({
 "apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"NAME","namespace":"NS"},
 "spec":{"minAvailable":"50%","selector":{"matchLabels":{"app":"web"}}}})";

constexpr const char* k_class = R"({
 "apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"NAME"},"provisioner":"csi.example.com",
 "volumeBindingMode":"WaitForFirstConsumer","allowVolumeExpansion":false,"parameters":{"type":"fast"},
 "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]})";

constexpr const char* k_csi_node = R"({
 "apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"NAME"},
 "spec":{"drivers":[{"name":"csi.example.com","nodeID":"n","topologyKeys":["zone"],"allocatable":{"count":0}}]}})";

constexpr const char* k_capacity = R"({
 "apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"NAME","namespace":"NS"},
 "storageClassName":"NAME","capacity":"100Gi","nodeTopology":{"matchLabels":{"zone":"a"}}})";

constexpr const char* k_priority = R"({
 "apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"NAME"},"value":-7,
 "preemptionPolicy":"Never"})";

std::string filled_in(std::string text, const std::string& ns, const std::string& name) {
  const auto replace = [&text](const std::string& word, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
      text.replace(at, word.size(), by);
  };
  replace("\"NAME\"", "\"" + name + "\"");
  replace("\"NS\"", "\"" + ns + "\"");
  return text;
}

}  // namespace

std::vector<RichObject> rich_objects(const std::string& ns, const std::string& name) {
  const auto made = [&](const char* api, const char* version, bool namespaced, const std::string& plural,
                        const char* text) {
    const std::string inside = namespaced ? "/namespaces/" + ns : "";
    return RichObject{std::string(api) + version + inside + "/" + plural,
                      (std::string(api) == "/api/" ? "core/" : "") + std::string(version) + "/" + plural,
                      filled_in(text, ns, name)};
  };
  return {made("/api/", "v1", true, "pods", k_pod),
          made("/api/", "v1", false, "nodes", k_node),
          made("/api/", "v1", false, "persistentvolumes", k_volume),
          made("/api/", "v1", true, "persistentvolumeclaims", k_claim),
          made("/api/", "v1", true, "services", k_service),
          made("/apis/", "apps/v1", true, "replicasets", k_set),
          made("/apis/", "policy/v1", true, "poddisruptionbudgets", k_budget),
          made("/apis/", "storage.k8s.io/v1", false, "storageclasses", k_class),
          made("/apis/", "storage.k8s.io/v1", false, "csinodes", k_csi_node),
          made("/apis/", "storage.k8s.io/v1", true, "csistoragecapacities", k_capacity),
          made("/apis/", "scheduling.k8s.io/v1", false, "priorityclasses", k_priority)};
}

}  // namespace berth::tests
