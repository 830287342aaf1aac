// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"

namespace berth::bench {

/// What a request class asks for.
struct RequestClass {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
};

/// What the claim of each pod asks for; nodes have 8 GPUs and 4 NICs then, on four PCIe roots and two NUMA nodes.
enum class DeviceClaims : std::uint8_t {
  none,
  one,           // a GPU
  selector,      // a GPU by model and memory: every other one
  pairs,         // a GPU and a NIC of one PCIe root
  numa,          // four GPUs of one NUMA node
  alternatives,  // two GPUs by selector, or else one (firstAvailable)
  many,          // two GPUs and a NIC, all by selectors
  partitions,    // half of a GPU; a GPU is there as a whole, too, and both consume its counters
};

/// What pods ask of other pods, or of nodes by name.
enum class PodRule : std::uint8_t {
  none,
  affinity_zone,            // required affinity to one another, in one zone
  anti_affinity_host,       // required anti-affinity to one another, by host
  preferred_affinity_host,  // preferred affinity to one another, by host
  spread_zone,              // spread over zones, skew 1, required
  spread_soft,              // spread over zones and hosts, preferred
  one_node,                 // tied to a node by its name, as pods of daemon sets are
  mixed,                    // of ten pods: three with affinity, two with spread, five without either
};

/// A workload file, read and made into objects. Equal files and seeds give equal objects on every machine.
struct Workload {
  std::string name;
  std::int64_t node_cpu_milli = 0, node_memory_bytes = 0, node_pods = 0;
  std::vector<model::NodePtr> nodes;  // in list order: zones take turns
  std::size_t zones = 1;              // node i is in zone i % zones
  std::vector<RequestClass> classes;
  std::vector<std::uint32_t> class_of_pod;
  std::vector<model::PodPtr> pods;        // pending, in order of creation
  std::vector<model::PodPtr> bound;       // on their nodes before, shared out evenly
  std::vector<model::ObjectPtr> objects;  // what pods with claims need, and PodGroups
  DeviceClaims device_claims = DeviceClaims::none;
  PodRule rule = PodRule::none;
  std::size_t gang = 1;  // so many pods in a row get nodes together; 1: each by itself
};

/// What the pods that are bound before ask for; pod i of them is on node i % nodes.
inline constexpr RequestClass k_bound_asks{1, std::int64_t{1} << 20};
/// What pending pod i asks of others: the workload's rule, or that of its kind where kinds are mixed.
PodRule rule_of_pod(const Workload& workload, std::size_t i) noexcept;

/// Reads tests/bench/workloads/NAME.yaml or a path. Fields: nodes {count, cpu_milli, memory_mib, pods, zones},
/// pods {count, classes, cpu_milli, memory_mib, claims, device_claims, gang, rule, bound}, seed. gang, when there: so many pods in a row are a
/// PodGroup. claims, when there: "bound" gives each pod a claim that has its CSI volume, "wait" one that waits for the
/// pod; nodes take 39 volumes of the driver then. device_claims, when there: a word of DeviceClaims; rule, when there: one of PodRule. bound, when there: so many pods with the
/// same labels and without a rule are on nodes before, and ask for little. Class 0 asks for what the file says, the others for 1/8 to
/// 15/8 of it.
/// nodes, when not 0: so many instead of what the file says; no more pods than that where a node takes only one.
Result<Workload> read_workload(const std::string& path, SymbolTable& symbols, std::size_t nodes = 0);

}  // namespace berth::bench
