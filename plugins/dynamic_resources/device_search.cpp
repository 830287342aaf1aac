// SPDX-License-Identifier: Apache-2.0
#include "device_search.hpp"

namespace devices {

std::size_t DeviceSearch::begin(const DeviceSnapshot& devices) {
  shapes_.use(devices.inventory);
  return shapes_.bytes();
}

std::shared_ptr<dra::ClaimShape> DeviceSearch::shape_of(const std::vector<std::string_view>& specs,
                                                        const std::vector<std::shared_ptr<const dra::Claim>>& wanted) {
  return shapes_.get(specs, wanted, class_lookup(), cluster_.programs());
}

namespace {

/// Whether errors of the shape name these claims.
bool has_same_claims(std::span<const std::shared_ptr<const dra::PreparedClaim>> shape,
                     std::span<const std::shared_ptr<const dra::Claim>> wanted) {
  return std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end(), [](const auto& known, const auto& claim) {
    return known->object().name == claim->name && known->object().claim_namespace == claim->claim_namespace;
  });
}

}  // namespace

dra::Outcome DeviceSearch::find(CycleState& state, berth::Slot slot, dra::ClaimShape& shape,
                                std::span<const std::shared_ptr<const dra::Claim>> wanted,
                                const NodeFacts::Entry& facts, std::int64_t deadline_ns) const {
  if (state.allocator == nullptr) throw berth::Failure("the devices for this pod are reserved already");
  if (const dra::ClaimShape::Kept* const kept = shape.find(slot, *facts.pools, *state.devices.state))
    return {kept->kind, {}, kept->allocation};
  dra::Outcome outcome = search(state, shape.claims(), facts, deadline_ns);
  shape.keep(slot, *facts.pools, *state.devices.state, outcome);
  // The shape may have been made for claims of other names: an error names this pod's.
  if (outcome.kind != dra::Outcome::Kind::failed || has_same_claims(shape.claims(), wanted)) return outcome;
  if (wanted.data() != state.wanted.data()) return search(state, prepare(wanted), facts, deadline_ns);
  // Once for all nodes.
  std::call_once(state.named_once, [&] { state.named = prepare(wanted); });
  return search(state, state.named, facts, deadline_ns);
}

namespace {

struct Deadline {
  berth::Clock clock;
  std::int64_t end_ns;

  void set(dra::Limits& limits) {
    limits.stop = [](void* context) {
      const auto& its = *static_cast<const Deadline*>(context);
      return its.clock.monotonic_ns() > its.end_ns ? dra::Limits::Stop::deadline_exceeded : dra::Limits::Stop::go_on;
    };
    limits.context = this;
  }
};

}  // namespace

/// Searches one node, for as long as one node may take at most, and not beyond the deadline of the attempt.
dra::Outcome DeviceSearch::search(CycleState& state, std::span<const std::shared_ptr<const dra::PreparedClaim>> claims,
                                  const NodeFacts::Entry& facts, std::int64_t deadline_ns) const {
  dra::Limits limits;
  const std::uint64_t steps_in_all = k_searches_max * limits.steps_max;
  const std::uint64_t steps_spent = std::min(state.search_steps.load(std::memory_order_relaxed), steps_in_all);
  limits.steps_max = std::min(limits.steps_max, steps_in_all - steps_spent);
  limits.selector_steps = &state.selector_steps;
  Deadline deadline{clock_, deadline_ns};
  if (timeout_ns_ != 0) {
    const std::int64_t of_node_ns = clock_.monotonic_ns() + timeout_ns_;
    deadline.end_ns = deadline_ns == 0 ? of_node_ns : std::min(deadline_ns, of_node_ns);
    deadline.set(limits);
  }
  thread_local dra::Workspace workspace;
  dra::Outcome outcome = state.allocator->allocate(facts.pools, claims, limits, workspace);
  state.search_steps.fetch_add(outcome.steps, std::memory_order_relaxed);
  return outcome;
}

std::vector<dra::Refusal> DeviceSearch::diagnose(const CycleState& state,
                                                 std::span<const std::shared_ptr<const dra::Claim>> wanted,
                                                 const NodeFacts::Entry& facts, std::int64_t deadline_ns) const {
  if (state.allocator == nullptr) return {};
  dra::Limits limits;
  limits.steps_max = k_diagnosis_steps_max;
  limits.selector_steps_max = k_diagnosis_selector_steps_max;
  Deadline deadline{clock_, deadline_ns};
  if (deadline_ns != 0) deadline.set(limits);
  thread_local dra::Workspace workspace;
  return state.allocator->diagnose(facts.pools, prepare(wanted), limits, workspace);
}

std::vector<std::shared_ptr<const dra::PreparedClaim>> DeviceSearch::prepare(
    std::span<const std::shared_ptr<const dra::Claim>> wanted) const {
  std::vector<std::shared_ptr<const dra::PreparedClaim>> claims;
  dra::SelectorBudget budget;
  for (const auto& each : wanted)
    claims.push_back(std::make_shared<dra::PreparedClaim>(each, class_lookup(), cluster_.programs(), budget));
  return claims;
}

dra::ClassLookup DeviceSearch::class_lookup() const {
  return [this](std::string_view name) { return cluster_.device_class(name); };
}

}  // namespace devices
