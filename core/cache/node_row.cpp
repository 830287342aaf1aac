// SPDX-License-Identifier: Apache-2.0
#include "cache/node_row.hpp"

#include <algorithm>
#include <tuple>

namespace berth::cache {
namespace {

bool before(const model::HostPort& a, const model::HostPort& b) noexcept {
  return std::tie(a.ip, a.protocol, a.port) < std::tie(b.ip, b.protocol, b.port);
}

void charge_ports(NodeRow& row, const model::Pod& pod, SharedLists& lists, int sign) {
  const auto& asked = pod.spec->host_ports;
  if (asked.empty()) return;
  for (const model::HostPort& port : asked) {
    const auto at = std::lower_bound(row.ports.begin(), row.ports.end(), port, before);
    const bool known = at != row.ports.end() && *at == port;
    if (sign > 0 && !known) row.ports.insert(at, port);
    // Not reference-counted: taking one of two pods with the same port away frees it, as upstream.
    if (sign < 0 && known) row.ports.erase(at);
  }
  row.port_set = lists.ports.intern(row.ports);
}

void charge_volumes(NodeRow& row, const model::Pod& pod, SharedLists& lists, int sign) {
  if (pod.node_volumes.empty()) return;
  const auto known = lists.volumes.members(row.volume_set);
  std::vector<model::NodeVolume> volumes(known.begin(), known.end());
  for (const model::NodeVolume& volume : pod.node_volumes) {
    const auto at = std::lower_bound(volumes.begin(), volumes.end(), volume);
    if (sign > 0)
      volumes.insert(at, volume);
    else if (at != volumes.end() && *at == volume)
      volumes.erase(at);
  }
  row.volume_set = lists.volumes.intern(volumes);
}

}  // namespace

void charge(NodeRow& row, const model::Pod& pod, ResourceTable& resources, SharedLists& lists, int sign) {
  const model::PodRequests& requests = pod.requests;
  const auto& asked = requests.resources;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].effective == 0) continue;
    const ResourceIndex r = i < k_first_scalar ? static_cast<ResourceIndex>(i) : resources.index_of(asked[i].name);
    if (r >= row.requested.size()) row.requested.resize(r + 1, 0);
    row.requested[r] += sign * asked[i].effective;
  }
  row.nonzero_cpu_milli += sign * requests.nonzero_cpu_milli;
  row.nonzero_memory_bytes += sign * requests.nonzero_memory_bytes;
  charge_ports(row, pod, lists, sign);
  charge_volumes(row, pod, lists, sign);
}

void describe(NodeRow& row, const model::NodePtr& node, ResourceTable& resources, SharedLists& lists) {
  row.node = node;
  row.allocatable.clear();
  row.allowed_pods = node->allowed_pods;
  for (const model::ResourceAmount& have : node->allocatable) {
    const ResourceIndex r = resources.index_of(have.name);
    if (r >= row.allocatable.size()) row.allocatable.resize(r + 1, 0);
    row.allocatable[r] = have.amount;
  }
  row.taint_set = lists.taints.intern(node->taints);
  row.label_set = lists.labels.intern(node->labels);
  row.feature_set = lists.features.intern(node->declared_features);
  row.image_generation = 0;
}

}  // namespace berth::cache
