// SPDX-License-Identifier: Apache-2.0
#include "app/verify/awkward_clusters.hpp"

#include <spdlog/fmt/fmt.h>

namespace berth::app {
namespace {

// More than one block, and the last of them not full.
constexpr std::size_t k_many_nodes = 1'100;
constexpr std::size_t k_label_bytes_max = 63, k_name_bytes_max = 253;

std::string container(std::string_view requests, std::string_view more = {}) {
  return fmt::format("{{name: c, image: \"example.com/c:1\"{}{}}}",
                     requests.empty() ? "" : fmt::format(", resources: {{requests: {{{}}}}}", requests), more);
}

std::string pod(std::string_view name, std::string_view spec, std::string_view metadata = {}) {
  return fmt::format("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {}{}}}\nspec: {{{}}}\n", name, metadata, spec);
}

std::string node(std::string_view name, std::string_view allocatable, std::string_view labels = {},
                 std::string_view spec = {}) {
  return fmt::format(
      "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {}, labels: {{{}}}}}\nspec: {{{}}}\nstatus: {{allocatable: "
      "{{{}}}}}\n",
      name, labels, spec, allocatable);
}

/// The n-th of the mixed nodes.
std::string mixed_node(std::size_t n) {
  const std::string name = fmt::format("node-{}", n);
  const std::string labels =
      fmt::format("kubernetes.io/hostname: {}, topology.kubernetes.io/zone: zone-{}", name, n % 3);
  std::string spec;
  if (n % 7 == 3) spec = "taints: [{key: dedicated, value: batch, effect: NoSchedule}]";
  if (n % 11 == 5) spec = "unschedulable: true";
  const std::string_view allocatable = n % 5 == 4   ? "cpu: \"0\", memory: \"0\", pods: \"0\""
                                       : n % 2 == 0 ? "cpu: \"4\", memory: 8Gi, pods: \"110\", example.com/gpu: \"2\""
                                                    : "cpu: \"64\", memory: 256Gi, pods: \"250\"";
  std::string text = node(name, allocatable, labels, spec);
  if (n % 4 == 0)
    text += pod(fmt::format("placed-{}", n),
                fmt::format("nodeName: {}, containers: [{}]", name, container("cpu: 500m, memory: 256Mi")),
                ", labels: {app: web}");
  return text;
}

std::string pod_with_everything(std::string_view name) {
  return pod(
      name,
      "priority: 1000, nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}], "
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: "
      "{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-1]}]}}]}, "
      "podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
      "labelSelector: {matchLabels: {app: web}}}]}}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: "
      "topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}], "
      "volumes: [{name: v, emptyDir: {}}], overhead: {cpu: 10m}, hostNetwork: true, "
      "initContainers: [" +
          container("cpu: \"2\"", ", restartPolicy: Always") + "], containers: [" +
          container("cpu: 100m, memory: 64Mi, ephemeral-storage: 1Gi",
                    ", ports: [{containerPort: 80, hostPort: 8080, protocol: UDP}]") +
          "]",
      ", labels: {app: web, tier: front}, annotations: {example.com/note: \"\xC3\xA9\"}");
}

std::string extreme_cluster() {
  const std::string longest(k_name_bytes_max, 'n'), value(k_label_bytes_max, 'v');
  std::string labels = fmt::format("kubernetes.io/hostname: {}", value);
  for (int i = 0; i < 500; ++i) labels += fmt::format(", example.com/label-{}: {}", i, value);
  std::string text = node(longest,
                          "cpu: 9223372036854775807m, memory: \"9223372036854775807\", pods: \"2147483647\", "
                          "example.com/gpu: \"9223372036854775807\"",
                          labels);
  text += node("empty-values", "cpu: \"0\", memory: \"0\", pods: \"1\"", "kubernetes.io/hostname: \"\", app: \"\"");
  text += pod("huge",
              fmt::format("containers: [{}]", container("cpu: 9223372036854775807m, memory: \"9223372036854775807\", "
                                                        "example.com/gpu: \"9223372036854775807\"")),
              fmt::format(", labels: {{{}}}", labels));
  text += pod("first", "priority: 2147483647, containers: [" + container("") + "]");
  text += pod("last", "priority: -2147483648, containers: [" + container("") + "]");
  std::string containers;
  for (int i = 0; i < 300; ++i)
    containers += fmt::format("{}{{name: c-{}, image: \"example.com/c:{}\", resources: {{requests: {{cpu: 1m}}}}}}",
                              i == 0 ? "" : ", ", i, i);
  text += pod("many-containers", "containers: [" + containers + "]");
  text += pod("large", "containers: [" + container("") + "]",
              fmt::format(", annotations: {{example.com/text: \"{}\"}}", std::string(200'000, 'a')));
  return text;
}

std::string full_cluster() {
  std::string text;
  for (int n = 0; n < 6; ++n) {
    text += node(fmt::format("full-{}", n), "cpu: \"2\", memory: 4Gi, pods: \"3\"",
                 fmt::format("topology.kubernetes.io/zone: zone-{}", n % 2));
    for (int i = 0; i < 3; ++i)
      text += pod(fmt::format("low-{}-{}", n, i), fmt::format("nodeName: full-{}, priority: {}, containers: [{}]", n, i,
                                                              container("cpu: 600m, memory: 1Gi")));
  }
  for (int i = 0; i < 8; ++i)
    text += pod(fmt::format("high-{}", i), fmt::format("priority: 1000, containers: [{}]", container("cpu: 1500m")));
  return text;
}

}  // namespace

std::string mixed_nodes(std::size_t count, bool reversed) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += mixed_node(reversed ? count - 1 - i : i);
  return text;
}

std::string many_nodes(std::size_t count) {
  std::string text = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view taints =
        i % 64 == 3 ? "\"taints\": [{\"key\": \"dedicated\", \"effect\": \"NoSchedule\"}]" : "";
    text += fmt::format(
        "{}{{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {{\"name\": \"node-{}\", \"labels\": "
        "{{\"kubernetes.io/hostname\": \"node-{}\", \"topology.kubernetes.io/zone\": \"zone-{}\"}}}}, \"spec\": "
        "{{{}}}, "
        "\"status\": {{\"allocatable\": {{\"cpu\": \"{}\", \"memory\": \"8Gi\", \"pods\": \"110\"}}}}}}",
        i == 0 ? "" : ",\n", i, i, i % 3, taints, i % 5 == 4 ? 0 : 4 + i % 64);
  }
  return text + "]}\n";
}

std::string mixed_pods(std::size_t count, const std::string& prefix) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("{}-{}", prefix, i);
    switch (i % 4) {
      case 0:
        text += pod(name, "containers: [" + container("") + "]");
        break;
      case 1:
        text += pod(name, "containers: [" + container("cpu: 100m, memory: 64Mi") + "]", ", labels: {app: web}");
        break;
      case 2:
        text += pod(name, "tolerations: [{key: dedicated, operator: Exists}], containers: [" +
                              container("cpu: \"2\", memory: 1Gi") + "]");
        break;
      default:
        text += pod_with_everything(name);
    }
  }
  return text;
}

std::vector<AwkwardCluster> awkward_clusters() {
  return {{"no nodes", mixed_pods(4)},
          {"a node that says nothing", node("bare", "") + mixed_pods(4)},
          {"one node", mixed_node(0) + mixed_pods(8)},
          {"more nodes than a block has", mixed_nodes(k_many_nodes) + mixed_pods(12)},
          {"the largest numbers and the longest names", extreme_cluster()},
          {"full of pods of lower priority", full_cluster()}};
}

}  // namespace berth::app
