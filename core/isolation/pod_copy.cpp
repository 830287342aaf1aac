// SPDX-License-Identifier: Apache-2.0
#include "isolation/pod_copy.hpp"

#include <cstring>

namespace berth::isolation {
namespace {

/// Of the first page, which no process has.
constexpr std::uint64_t k_unreadable = 64;

template <typename T>
const T* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<const T*>(static_cast<std::uintptr_t>(address));  // NOLINT: of the other process
}

}  // namespace

void* PodCopy::allocate(std::size_t bytes, std::size_t align) {
  const std::size_t begin = (at_ + align - 1) / align * align;
  if (is_full_ || begin > room_.size() || bytes > room_.size() - begin) {
    is_full_ = true;
    return nullptr;
  }
  at_ = begin + bytes;
  return room_.data() + begin;
}

template <typename T>
void PodCopy::list(const T*& at, std::size_t count) {
  list(at, count, [](T&) {});
}

template <typename T, typename Mend>
void PodCopy::list(const T*& at, std::size_t count, Mend mend) {
  if (at == nullptr) return;
  const auto* const bytes = reinterpret_cast<const std::byte*>(at);
  if (!trap_.empty() && bytes >= trap_.data() && bytes < trap_.data() + trap_.size()) {
    at = pointer<T>(k_unreadable);
    return;
  }
  T* const copy = array<T>(count);
  if (copy == nullptr) return;
  if (count != 0) std::memcpy(static_cast<void*>(copy), at, count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) mend(copy[i]);
  at = pointer<T>(there(copy));
}

void PodCopy::text(berth_str& text) { list(text.ptr, text.len); }

void PodCopy::texts(const berth_str*& at, std::uint32_t count) {
  list(at, count, [this](berth_str& one) { text(one); });
}

void PodCopy::requirements(const berth_requirement_v1*& at, std::uint32_t count) {
  list(at, count, [this](berth_requirement_v1& one) { list(one.values, one.value_count); });
}

void PodCopy::selector(berth_selector_v1& selector) {
  requirements(selector.requirements, selector.requirement_count);
  text(selector.error);
}

void PodCopy::node_terms(const berth_node_term_v1*& at, std::uint32_t count) {
  list(at, count, [this](berth_node_term_v1& term) {
    requirements(term.expressions, term.expression_count);
    requirements(term.fields, term.field_count);
    text(term.error);
  });
}

void PodCopy::affinity_terms(const berth_affinity_term_v1*& at, std::uint32_t count) {
  list(at, count, [this](berth_affinity_term_v1& term) {
    selector(term.selector);
    selector(term.namespace_selector);
    list(term.namespaces, term.namespace_count);
  });
}

void PodCopy::amounts(const berth_container_amount_v1*& at, std::uint32_t count) { list(at, count); }

std::uint64_t PodCopy::add(const berth_pod_v1& pod) {
  static_assert(sizeof(berth_pod_v1) == 416, "a field more is copied here as well");
  auto* const copy = array<berth_pod_v1>(1);
  if (copy == nullptr) return 0;
  berth_pod_v1 p = pod;
  for (berth_str* const one : {&p.name, &p.uid, &p.owner_api_version, &p.owner_kind, &p.owner_name, &p.owner_uid,
                               &p.group, &p.json, &p.scheduler_name})
    text(*one);
  list(p.requests, p.request_count);
  list(p.resources, p.resource_count);
  list(p.labels, p.label_count);
  list(p.tolerations, p.toleration_count);
  list(p.node_selection, 1, [this](berth_node_selection_v1& selection) {
    list(selection.selector, selection.selector_count);
    node_terms(selection.required, selection.required_count);
    node_terms(selection.preferred, selection.preferred_count);
  });
  list(p.host_ports, p.host_port_count);
  list(p.images, p.image_count);
  list(p.spread, p.spread_count, [this](berth_spread_v1& spread) {
    selector(spread.selector);
    list(spread.match_label_keys, spread.match_label_key_count);
  });
  list(p.affinity, 1, [this](berth_affinity_v1& affinity) {
    affinity_terms(affinity.required, affinity.required_count);
    affinity_terms(affinity.preferred, affinity.preferred_count);
    affinity_terms(affinity.anti_required, affinity.anti_required_count);
    affinity_terms(affinity.anti_preferred, affinity.anti_preferred_count);
  });
  texts(p.gates, p.gate_count);
  list(p.volumes, p.volume_count, [this](berth_volume_v1& volume) {
    text(volume.name);
    text(volume.source);
  });
  list(p.annotations, p.annotation_count);
  texts(p.resource_claims, p.resource_claim_count);
  list(p.containers, p.resource_container_count,
       [this](berth_container_v1& container) { amounts(container.amounts, container.amount_count); });
  amounts(p.overhead, p.overhead_count);
  list(p.claims, p.claim_count, [this](berth_pod_claim_v1& claim) {
    text(claim.name);
    text(claim.claim);
    text(claim.claim_template);
    text(claim.generated);
  });
  texts(p.container_names, p.container_name_count);
  if (is_full_) return 0;
  *copy = p;
  return there(copy);
}

}  // namespace berth::isolation
