// SPDX-License-Identifier: Apache-2.0
#include "framework/view/pod_view.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "observe/fatal_signal.hpp"

namespace berth::framework {

PodTrap pod_trap() {
  static const PodTrap trap = [] {
    constexpr std::size_t k_bytes = std::size_t{1} << 16;
    void* const pages = ::mmap(nullptr, k_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return PodTrap{};
    observe::name_trap(pages, k_bytes, ", reads pod fields that it did not ask for in create()");
    return PodTrap{pages, k_bytes};
  }();
  return trap;
}

namespace {

void set_trap(const PodFieldBytes& field, berth_pod_v1& view) {
  const auto set = [&](std::uint64_t value) {
    std::memcpy(reinterpret_cast<char*>(&view) + field.offset, &value, field.bytes);  // little endian
  };
  switch (field.trap) {
    case PodFieldBytes::Trap::none:
      return set(0);
    case PodFieldBytes::Trap::address:
      return set(reinterpret_cast<std::uintptr_t>(pod_trap().begin));
    case PodFieldBytes::Trap::one:
      return set(1);
    case PodFieldBytes::Trap::number:
      return set(BERTH_NOT_REQUESTED);
  }
}

}  // namespace

void PodView::build(std::uint64_t groups) {
  const std::uint64_t missing = groups & ~built_;
  if (missing == 0) return;
  built_ |= missing;
  for (const PodFieldGroup& group : pod_field_groups())
    if ((missing & group.bit) != 0) group.build(parts_);
}

std::span<const berth_resource_v1> PodView::resources() {
  build(BERTH_POD_REQUESTS);
  return {parts_.full.resources, parts_.full.resource_count};
}

/// Fields that several groups fill are left empty if one of these was asked for: it may have nothing to say of the pod.
void PodView::trap(const PodFields& fields, berth_pod_v1& v) {
  if (pod_trap().begin == nullptr) return;
  for (const PodFieldGroup& group : pod_field_groups())
    for (const PodFieldBytes& field : group.fields) set_trap(field, v);
  const berth_pod_v1 nothing{};
  for (const PodFieldGroup& group : pod_field_groups())
    if ((fields.groups & group.bit) != 0) copy_fields(group.fields, nothing, v);
  if (fields.requests.empty()) {
    v.requests = static_cast<const std::int64_t*>(pod_trap().begin);
    v.request_count = 1;
  }
}

const berth_pod_v1* PodView::view(const PodFields& fields) {
  build(fields.groups);
  const model::Pod& p = pod();
  auto& v = *parts_.arena->array<berth_pod_v1>(1);
  v.struct_size = sizeof(berth_pod_v1);
  if (fields.is_trapped) trap(fields, v);
  for (const PodFieldGroup& group : pod_field_groups()) {
    if ((fields.groups & group.bit) == 0) continue;
    if (group.show != nullptr)
      group.show(parts_, v);
    else
      copy_fields(group.fields, parts_.full, v);
  }
  if (!fields.requests.empty()) {
    auto* const out = parts_.arena->array<std::int64_t>(fields.requests.size());
    for (std::size_t i = 0; i < fields.requests.size(); ++i)
      for (const model::PodResource& r : p.requests->resources)
        if (r.name == fields.requests[i]) out[i] = r.request;
    v.requests = out;
    v.request_count = static_cast<std::uint32_t>(fields.requests.size());
  }
  if ((fields.groups & BERTH_POD_LABELS) == 0 && !fields.labels.empty()) {
    auto* const out = parts_.arena->array<berth_label_v1>(fields.labels.size());
    std::uint32_t n = 0;
    for (const model::Label& label : p.labels)
      if (std::binary_search(fields.labels.begin(), fields.labels.end(), label.key))
        out[n++] = {label.key, label.value};
    v.labels = out;
    v.label_count = n;
  }
  return &v;
}

}  // namespace berth::framework
