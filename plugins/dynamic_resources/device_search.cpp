// SPDX-License-Identifier: Apache-2.0
#include "device_search.hpp"

namespace dynamic_resources {

std::size_t DeviceSearch::begin(const DeviceSnapshot& devices) {
  shapes_.use(devices.inventory);
  return shapes_.bytes();
}

std::shared_ptr<dra::ClaimShape> DeviceSearch::shape_of(const std::vector<std::string_view>& specs,
                                                        const std::vector<std::shared_ptr<const dra::Claim>>& wanted) {
  return shapes_.get(specs, wanted, class_lookup(), cluster_.programs());
}

dra::Outcome DeviceSearch::find(CycleState& state, berth::Slot slot, dra::ClaimShape& shape,
                                std::span<const std::shared_ptr<const dra::Claim>> wanted,
                                const NodeFacts::Entry& facts) const {
  if (state.allocator == nullptr) throw berth::Failure("the devices for this pod are reserved already");
  if (const dra::ClaimShape::Kept* const kept = shape.find(slot, *facts.pools, *state.devices.state))
    return {kept->kind, {}, kept->allocation};
  dra::Outcome outcome = search(state, shape.claims(), facts);
  shape.keep(slot, *facts.pools, *state.devices.state, outcome);
  // The shape may have been made for claims of other names: an error names this pod's.
  if (outcome.kind != dra::Outcome::Kind::failed) return outcome;
  std::vector<std::shared_ptr<const dra::PreparedClaim>> own;
  for (const auto& each : wanted)
    own.push_back(std::make_shared<dra::PreparedClaim>(each, class_lookup(), cluster_.programs()));
  return search(state, own, facts);
}

/// Searches one node, for as long as one node may take at most. Upstream searches 16 nodes at a time and has no limit for all of
/// them; here one claim that takes long on every node would stop all other pods for as long, so an attempt has k_searches_max times
/// the limits of a node.
dra::Outcome DeviceSearch::search(CycleState& state, std::span<const std::shared_ptr<const dra::PreparedClaim>> claims,
                                  const NodeFacts::Entry& facts) const {
  struct Deadline {
    berth::Clock clock;
    std::int64_t end_ns;
  };
  const std::int64_t begin_ns = clock_.monotonic_ns();
  const std::int64_t spent_ns = state.search_ns.load(std::memory_order_relaxed);
  const std::int64_t left_ns = std::int64_t{k_searches_max} * timeout_ns_ - spent_ns;
  Deadline deadline{clock_, begin_ns + std::min(timeout_ns_, left_ns)};
  dra::Limits limits;
  const std::uint64_t steps_in_all = k_searches_max * limits.steps_max;
  const std::uint64_t steps_spent = std::min(state.search_steps.load(std::memory_order_relaxed), steps_in_all);
  limits.steps_max = std::min(limits.steps_max, steps_in_all - steps_spent);
  if (timeout_ns_ != 0) {
    limits.stop = [](void* context) {
      const auto& its = *static_cast<const Deadline*>(context);
      return its.clock.monotonic_ns() > its.end_ns ? dra::Limits::Stop::deadline_exceeded : dra::Limits::Stop::go_on;
    };
    limits.context = &deadline;
  }
  thread_local dra::Workspace workspace;
  dra::Outcome outcome = state.allocator->allocate(facts.pools, claims, limits, workspace);
  state.search_ns.fetch_add(clock_.monotonic_ns() - begin_ns, std::memory_order_relaxed);
  state.search_steps.fetch_add(outcome.steps, std::memory_order_relaxed);
  return outcome;
}

dra::ClassLookup DeviceSearch::class_lookup() const {
  return [this](std::string_view name) { return cluster_.device_class(name); };
}

}  // namespace dynamic_resources
