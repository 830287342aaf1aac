// SPDX-License-Identifier: Apache-2.0
#include "cache/node_row.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace berth::cache {
namespace {

bool before(const model::HostPort& a, const model::HostPort& b) noexcept {
  return std::tie(a.ip, a.protocol, a.port) < std::tie(b.ip, b.protocol, b.port);
}

void charge_ports(NodeRow& row, const model::Pod& pod, int sign) {
  for (const model::HostPort& port : pod.spec->host_ports) {
    const auto at = std::lower_bound(row.ports.begin(), row.ports.end(), port, before);
    const bool known = at != row.ports.end() && *at == port;
    if (sign > 0 && !known) row.ports.insert(at, port);
    // Not reference-counted: taking one of two pods with the same port away frees it, as upstream.
    if (sign < 0 && known) row.ports.erase(at);
  }
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

constexpr WideAmount k_largest = std::numeric_limits<std::int64_t>::max();
constexpr WideAmount k_smallest = std::numeric_limits<std::int64_t>::min();

/// Adds to a sum that is exact however large it gets, of which `shown` is as much as an int64 holds.
void add_wide(NodeRow& row, std::int64_t& shown, ResourceIndex of, WideAmount amount) {
  const auto at =
      std::find_if(row.wide_sums.begin(), row.wide_sums.end(), [&](const WideSum& wide) { return wide.of == of; });
  const WideAmount sum = (at == row.wide_sums.end() ? WideAmount{shown} : at->sum) + amount;
  shown = static_cast<std::int64_t>(std::clamp(sum, k_smallest, k_largest));
  const bool fits = sum == shown;
  if (at != row.wide_sums.end() && fits)
    row.wide_sums.erase(at);
  else if (at != row.wide_sums.end())
    at->sum = sum;
  else if (!fits)
    row.wide_sums.push_back({of, sum});
}

void add(NodeRow& row, std::int64_t& shown, ResourceIndex of, std::int64_t amount, int sign) {
  std::int64_t sum = 0;
  const bool overflows =
      sign > 0 ? __builtin_add_overflow(shown, amount, &sum) : __builtin_sub_overflow(shown, amount, &sum);
  if (__builtin_expect(overflows || !row.wide_sums.empty(), 0))
    add_wide(row, shown, of, sign * WideAmount{amount});
  else
    shown = sum;
}

using NamedAmount = std::pair<Symbol, std::int64_t>;

void add_unoffered(NodeRow& row, std::vector<NamedAmount>& amounts, int sign) {
  std::sort(amounts.begin(), amounts.end());
  std::vector<UnofferedAmount> sums;
  sums.reserve(row.unoffered.size() + amounts.size());
  auto known = row.unoffered.begin();
  for (const auto& [name, amount] : amounts) {
    while (known != row.unoffered.end() && known->name < name) sums.push_back(*known++);
    if (known != row.unoffered.end() && known->name == name)
      sums.push_back(*known++);
    else if (sums.empty() || sums.back().name != name)
      sums.push_back({name, 0});
    sums.back().requested += sign * WideAmount{amount};
    if (sums.back().requested == 0) sums.pop_back();
  }
  sums.insert(sums.end(), known, row.unoffered.end());
  row.unoffered = std::move(sums);
}

}  // namespace

std::vector<model::HostPort> shared_ports(const NodeRow& row, const model::Pod& pod) {
  std::vector<model::HostPort> shared;
  for (const model::HostPort& port : pod.spec->host_ports)
    if (std::binary_search(row.ports.begin(), row.ports.end(), port, before)) shared.push_back(port);
  return shared;
}

void put_port(NodeRow& row, const model::HostPort& port) {
  const auto at = std::lower_bound(row.ports.begin(), row.ports.end(), port, before);
  if (at == row.ports.end() || *at != port) row.ports.insert(at, port);
  row.lists_changed = true;
}

void charge_amounts(NodeRow& row, const model::Pod& pod, const ResourceTable& resources, int sign) {
  const model::PodRequests& requests = pod.requests;
  const auto& asked = requests.resources;
  std::vector<NamedAmount> unoffered;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].effective == 0) continue;
    const ResourceIndex r = i < k_first_scalar ? static_cast<ResourceIndex>(i) : resources.find(asked[i].name);
    if (r == k_no_resource) {
      unoffered.emplace_back(asked[i].name, asked[i].effective);
      continue;
    }
    if (r >= row.requested.size()) row.requested.resize(r + 1, 0);
    add(row, row.requested[r], r, asked[i].effective, sign);
  }
  if (!unoffered.empty()) add_unoffered(row, unoffered, sign);
  add(row, row.nonzero_cpu_milli, WideSum::k_nonzero_cpu, requests.nonzero_cpu_milli, sign);
  add(row, row.nonzero_memory_bytes, WideSum::k_nonzero_memory, requests.nonzero_memory_bytes, sign);
  charge_ports(row, pod, sign);
  row.lists_changed = row.lists_changed || !pod.spec->host_ports.empty() || !pod.node_volumes.empty();
}

void charge(NodeRow& row, const model::Pod& pod, const ResourceTable& resources, SharedLists& lists, int sign) {
  charge_amounts(row, pod, resources, sign);
  if (!pod.spec->host_ports.empty()) row.port_set = lists.ports.intern(row.ports);
  charge_volumes(row, pod, lists, sign);
}

bool number_resource(NodeRow& row, Symbol name, ResourceIndex number) {
  const auto at = std::find_if(row.unoffered.begin(), row.unoffered.end(),
                               [&](const UnofferedAmount& amount) { return amount.name == name; });
  if (at == row.unoffered.end()) return false;
  if (number >= row.requested.size()) row.requested.resize(number + 1, 0);
  add_wide(row, row.requested[number], number, at->requested);
  row.unoffered.erase(at);
  return true;
}

bool number_offer(NodeRow& row, Symbol name, ResourceIndex number) {
  if (row.node == nullptr) return false;
  const auto& offered = row.node->allocatable;
  const auto at = std::find_if(offered.begin(), offered.end(), [&](const auto& have) { return have.name == name; });
  if (at == offered.end()) return false;
  if (number >= row.allocatable.size()) row.allocatable.resize(number + 1, 0);
  row.allocatable[number] = at->amount;
  return true;
}

bool unnumber_resource(NodeRow& row, Symbol name, ResourceIndex number) {
  if (row.requested_of(number) == 0) return false;
  const auto wide =
      std::find_if(row.wide_sums.begin(), row.wide_sums.end(), [&](const WideSum& each) { return each.of == number; });
  const WideAmount sum = wide == row.wide_sums.end() ? WideAmount{row.requested[number]} : wide->sum;
  if (wide != row.wide_sums.end()) row.wide_sums.erase(wide);
  row.requested[number] = 0;
  const auto at = std::find_if(row.unoffered.begin(), row.unoffered.end(),
                               [&](const UnofferedAmount& amount) { return amount.name >= name; });
  row.unoffered.insert(at, {name, sum});
  return true;
}

void describe(NodeRow& row, const model::NodePtr& node, const ResourceTable& resources, SharedLists& lists) {
  row.node = node;
  row.allocatable.clear();
  row.allowed_pods = node->allowed_pods;
  for (const model::ResourceAmount& have : node->allocatable) {
    const ResourceIndex r = resources.find(have.name);
    if (r == k_no_resource) continue;
    if (r >= row.allocatable.size()) row.allocatable.resize(r + 1, 0);
    row.allocatable[r] = have.amount;
  }
  row.taint_set = lists.taints.intern(node->taints);
  row.label_set = lists.labels.intern(node->labels);
  row.feature_set = lists.features.intern(node->declared_features);
  row.image_generation = 0;
}

}  // namespace berth::cache
