// SPDX-License-Identifier: Apache-2.0
#include "extended_pod.hpp"

namespace devices {
namespace {

std::shared_ptr<const ExtendedCopy> make_copy(const CycleState& state, std::uint64_t needed, DeviceSearch& search) {
  std::vector<const AskedResource*> resources;
  for (std::size_t i = 0; i < state.extended->resources.size(); ++i)
    if ((needed >> i & 1) != 0) resources.push_back(&state.extended->resources[i]);
  std::shared_ptr<ExtendedCopy> made = extended_copy(state.extended->containers, resources);
  const ClaimObject& claim = *state.claims.back().object;
  const ClaimPtr wanted = read_claim(claim.metadata, made->spec, {});
  auto named = std::make_shared<dra::Claim>(*wanted->wanted);
  named->name = claim.name;
  made->wanted = state.wanted;
  made->wanted.push_back(std::move(named));
  std::vector<std::string_view> specs;
  for (const CycleClaim& each : state.claims)
    if (each.allocation() == nullptr && !each.is_extended) specs.push_back(each.object->spec);
  specs.push_back(made->spec);
  made->shape = search.shape_of(specs, made->wanted);
  made->shape->prepare(state.by_slot.size());
  return made;
}

}  // namespace

std::unique_ptr<ExtendedState> ExtendedPods::state_of(const berth::Cycle& cycle) const {
  const berth::Pod pod = cycle.pod();
  if (pod.container_names().empty() || !cluster_.has_extended_classes()) return nullptr;
  auto made = std::make_unique<ExtendedState>();
  bool has_class = false;
  for (const berth_resource_v1& each : pod.resources()) {
    const std::string_view name = intern_.text(each.name);
    if (each.request == 0) continue;
    if ((each.flags & BERTH_RESOURCE_EXTENDED) == 0 && !name.starts_with(k_implied_prefix)) continue;
    AskedResource& asked = made->resources.emplace_back();
    asked.name = name;
    asked.device_class = cluster_.extended_class(name);
    asked.capacity = columns_.resource(cycle, BERTH_COL_ALLOCATABLE, each.name);
    asked.listed = columns_.resource(cycle, BERTH_COL_LISTED, each.name);
    has_class = has_class || asked.device_class != nullptr;
  }
  if (!has_class || made->resources.size() > k_resources_max) return nullptr;
  std::sort(made->resources.begin(), made->resources.end(),
            [](const AskedResource& a, const AskedResource& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < pod.containers().size(); ++i) made->containers.push_back(container_of(pod, i));
  return made;
}

AskedContainer ExtendedPods::container_of(berth::Pod pod, std::size_t i) const {
  const berth_container_v1& container = pod.containers()[i];
  AskedContainer made;
  made.name = berth::view(pod.container_names()[i]);
  made.is_short_lived = container.kind == BERTH_CONTAINER_INIT;
  std::vector<std::string> names;
  for (const auto& amount : std::span(container.amounts, container.amount_count))
    if ((amount.flags & BERTH_AMOUNT_REQUEST) != 0) names.emplace_back(intern_.text(amount.name));
  std::sort(names.begin(), names.end());
  for (const auto& amount : std::span(container.amounts, container.amount_count)) {
    if ((amount.flags & BERTH_AMOUNT_REQUEST) == 0) continue;
    std::string name(intern_.text(amount.name));
    const auto place = std::lower_bound(names.begin(), names.end(), name) - names.begin();
    made.amounts.push_back({std::move(name), amount.request, static_cast<std::size_t>(place)});
  }
  return made;
}

ClaimPtr ExtendedPods::claim_of(berth::Pod pod) const {
  const std::string_view ns = intern_.text(pod.ns());
  if (ClaimPtr left = cluster_.extended_claim(ns, pod.name(), pod.uid())) return left;
  return new_extended_claim(ns, pod.name(), pod.uid(), cluster_.ids().next());
}

ExtendedPods::Copy ExtendedPods::copy_for(const CycleState& state, berth::Slot slot, DeviceSearch& search) const {
  ExtendedState& extended = *state.extended;
  if (!state.claims.back().object->wanted->requests.empty()) return {nullptr, Copy::Refusal::claim_has_requests};
  std::uint64_t needed = 0;
  for (std::size_t i = 0; i < extended.resources.size(); ++i) {
    const AskedResource& asked = extended.resources[i];
    if (asked.device_class != nullptr && asked.capacity[slot] == 0) {
      needed |= std::uint64_t{1} << i;
    } else if (asked.listed[slot] == 0) {
      return {nullptr, Copy::Refusal::not_listed};
    }
  }
  if (needed == 0 && state.claims.size() == 1) return {};
  const guarded::Lock lock(extended.mutex);
  std::shared_ptr<const ExtendedCopy>& known = extended.copies[needed];
  if (known == nullptr) known = make_copy(state, needed, search);
  return {known.get()};
}

}  // namespace devices
