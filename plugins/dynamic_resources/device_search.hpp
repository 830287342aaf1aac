// SPDX-License-Identifier: Apache-2.0
/// Searches of nodes for devices: what was found for claims of the same shape, or a search now, within the limits of an attempt.
///
/// An instance per plugin instance. Threads: begin() and shape_of() [cycle]; shape_of() of filter, and find() [worker], each slot by
/// one thread at a time. Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (Filter).
#pragma once
#include "../shared/devices/node_facts.hpp"
#include "cycle_state.hpp"

namespace devices {

class DeviceSearch {
 public:
  /// `timeout_ns` is of one node; 0: no limit.
  DeviceSearch(DeviceCluster& cluster, berth::Clock clock, std::int64_t timeout_ns)
      : cluster_(cluster), clock_(clock), timeout_ns_(std::min(timeout_ns, k_timeout_ns_max)) {}

  /// An attempt that sees these devices begins. How many bytes are kept for claims of known shapes.
  std::size_t begin(const DeviceSnapshot& devices);
  /// The shape of claims with these specs.
  std::shared_ptr<dra::ClaimShape> shape_of(const std::vector<std::string_view>& specs,
                                            const std::vector<std::shared_ptr<const dra::Claim>>& wanted);
  /// What was found for claims of the shape, or is found now. An error names the claims of `wanted`. Throws berth::Failure where
  /// the devices are reserved already.
  dra::Outcome find(CycleState& state, berth::Slot slot, dra::ClaimShape& shape,
                    std::span<const std::shared_ptr<const dra::Claim>> wanted, const NodeFacts::Entry& facts,
                    std::int64_t deadline_ns) const;
  /// Why nothing was found, for people who ask.
  std::vector<dra::Refusal> diagnose(const CycleState& state, std::span<const std::shared_ptr<const dra::Claim>> wanted,
                                     const NodeFacts::Entry& facts, std::int64_t deadline_ns) const;
  /// For all nodes of an attempt. Upstream searches 16 nodes at a time and has no limit for all of them; here one claim that takes
  /// long on every node would stop all other pods for as long.
  std::uint64_t budget_ns() const noexcept { return k_searches_max * static_cast<std::uint64_t>(timeout_ns_); }

 private:
  static constexpr std::int64_t k_timeout_ns_max = std::int64_t{1} << 58;  // 9 years
  static constexpr std::uint64_t k_searches_max = 3;  // of as long as one node may take, in an attempt
  static constexpr std::uint64_t k_diagnosis_steps_max = 200'000;
  static constexpr std::uint64_t k_diagnosis_selector_steps_max = 2'000'000;

  dra::Outcome search(CycleState& state, std::span<const std::shared_ptr<const dra::PreparedClaim>> claims,
                      const NodeFacts::Entry& facts, std::int64_t deadline_ns) const;
  std::vector<std::shared_ptr<const dra::PreparedClaim>> prepare(
      std::span<const std::shared_ptr<const dra::Claim>> wanted) const;
  dra::ClassLookup class_lookup() const;

  DeviceCluster& cluster_;
  const berth::Clock clock_;
  const std::int64_t timeout_ns_;
  dra::ClaimShapes shapes_;
};

}  // namespace devices
