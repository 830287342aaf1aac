// SPDX-License-Identifier: Apache-2.0
#include "model/object_bytes.hpp"

#include <algorithm>
#include <type_traits>

namespace berth::model {
namespace {

constexpr std::size_t k_block_bytes = 16;                         // what malloc adds to a block
constexpr std::size_t k_counted_bytes = 2 * sizeof(std::size_t);  // the counts of a shared_ptr, or of a shared value

// What a value has allocated, without its own size.
template <typename T>
std::size_t behind(const std::vector<T>& list) noexcept;
template <typename T>
std::size_t behind(const Shared<T>& value) noexcept;
template <typename T>
std::size_t behind(const SharedList<T>& list) noexcept {
  return behind(static_cast<const Shared<std::vector<T>>&>(list));
}

std::size_t behind(const std::string& text) noexcept {
  constexpr std::size_t k_within = 15;
  return text.capacity() <= k_within ? 0 : text.capacity() + 1 + k_block_bytes;
}
std::size_t behind(const SharedText& text) noexcept { return behind(static_cast<const Shared<std::string>&>(text)); }
std::size_t behind(const ContainerResources& v) noexcept { return behind(v.amounts) + behind(v.name); }
std::size_t behind(const PodRequests& v) noexcept {
  return behind(v.resources) + behind(v.containers) + behind(v.overhead) + behind(v.whole);
}
std::size_t behind(const Requirement& v) noexcept { return behind(v.values); }
std::size_t behind(const Selector& v) noexcept { return behind(v.requirements) + behind(v.error); }
std::size_t behind(const NodeTerm& v) noexcept { return behind(v.expressions) + behind(v.fields) + behind(v.error); }
std::size_t behind(const NodeSelection& v) noexcept {
  return behind(v.selector) + behind(v.required) + behind(v.preferred);
}
std::size_t behind(const AffinityTerm& v) noexcept {
  return behind(v.selector) + behind(v.namespace_selector) + behind(v.namespaces);
}
std::size_t behind(const SpreadConstraint& v) noexcept { return behind(v.selector) + behind(v.match_label_keys); }
std::size_t behind(const OwnerReference& v) noexcept {
  return behind(v.api_version) + behind(v.kind) + behind(v.name) + behind(v.uid);
}
std::size_t behind(const PodVolume& v) noexcept { return behind(v.name) + behind(v.source); }
std::size_t behind(const PodCondition& v) noexcept {
  return behind(v.type) + behind(v.status) + behind(v.reason) + behind(v.message);
}
std::size_t behind(const PodClaim& v) noexcept { return behind(v.name) + behind(v.claim) + behind(v.claim_template); }
std::size_t behind(const PodClaimStatuses::Generated& v) noexcept { return behind(v.name) + behind(v.claim); }
std::size_t behind(const PodClaimStatuses& v) noexcept { return behind(v.generated) + behind(v.extended); }
std::size_t behind(const PodSpec::Unsupported& v) noexcept { return behind(v.plugin) + behind(v.field); }
std::size_t behind(const PodSpec& v) noexcept {
  const PodAffinity& affinity = v.affinity;
  return behind(v.tolerations) + behind(affinity.required) + behind(affinity.preferred) +
         behind(affinity.anti_required) + behind(affinity.anti_preferred) + behind(v.spread) + behind(v.host_ports) +
         behind(v.images) + behind(v.gates) + behind(v.resource_claims) + behind(v.group) + behind(v.unsupported) +
         behind(v.managed_resources);
}
std::size_t behind(const NodeImage& v) noexcept { return behind(v.names); }

template <typename T>
std::size_t behind(const std::vector<T>& list) noexcept {
  if (list.capacity() == 0) return 0;
  std::size_t bytes = list.capacity() * sizeof(T) + k_block_bytes;
  if constexpr (!std::is_trivially_copyable_v<T>)
    for (const T& value : list) bytes += behind(value);
  return bytes;
}
template <typename T>
std::size_t behind(const Shared<T>& value) noexcept {
  return value.is_none() ? 0 : sizeof(T) + k_counted_bytes + k_block_bytes + behind(value.get());
}

template <typename T>
std::size_t share(const T& value) noexcept {
  return value.is_none() ? 0 : behind(value) / std::max<std::uint32_t>(value.owners(), 1);
}

}  // namespace

std::size_t bytes_of(const Pod& pod) noexcept {
  return sizeof(Pod) + k_counted_bytes + k_block_bytes + behind(pod.name) + share(pod.ns) + share(pod.labels) +
         share(pod.annotations) + share(pod.controller) + share(pod.scheduler_name) + share(pod.requests) +
         share(pod.node_selection) + share(pod.spec) + share(pod.volumes) + share(pod.node_volumes) + share(pod.phase) +
         share(pod.conditions) + share(pod.claim_statuses) + pod.body.packed_bytes() +
         pod.symbols.share_of_list_bytes();
}
std::size_t bytes_of(const Node& node) noexcept {
  return sizeof(Node) + k_counted_bytes + k_block_bytes + behind(node.name) + behind(node.uid) +
         behind(node.resource_version) + behind(node.labels) + behind(node.annotations) + behind(node.taints) +
         behind(node.allocatable) + behind(node.capacity) + behind(node.images) + behind(node.declared_features) +
         behind(node.conditions) + node.body.packed_bytes() + node.symbols.share_of_list_bytes();
}
std::size_t bytes_of(const Object& object) noexcept {
  return sizeof(Object) + k_counted_bytes + k_block_bytes + behind(object.resource) + behind(object.ns) +
         behind(object.name) + behind(object.uid) + behind(object.resource_version) + behind(object.json);
}

std::size_t kept_bytes(const SharedText& text) noexcept { return behind(text); }
std::size_t kept_bytes(const SharedList<Label>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<Toleration>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<NodeTerm>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<AffinityTerm>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<SpreadConstraint>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<HostPort>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<ImageRef>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<PodVolume>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<NodeVolume>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<PodCondition>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<std::string>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const SharedList<PodClaim>& list) noexcept { return behind(list); }
std::size_t kept_bytes(const Shared<OwnerReference>& value) noexcept { return behind(value); }
std::size_t kept_bytes(const Shared<PodRequests>& value) noexcept { return behind(value); }
std::size_t kept_bytes(const Shared<NodeSelection>& value) noexcept { return behind(value); }
std::size_t kept_bytes(const Shared<PodSpec>& value) noexcept { return behind(value); }

}  // namespace berth::model
