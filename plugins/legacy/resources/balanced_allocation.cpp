// SPDX-License-Identifier: Apache-2.0
// How evenly full a node would be: cpu and memory, and the disks that it can attach where the operator asked for them.
//
// Both look at the state with the pod in place; a node where one of the shares would be 1 or more scores 0.
// Source: kubernetes v1.16 pkg/scheduler/algorithm/priorities/balanced_resource_allocation.go; what it does with the
// gate BalanceAttachedNodeVolumes is a policy of its own, so that without it nothing is watched or counted.
#include <berth/plugin.hpp>

#include "../prepared.hpp"
#include "../volumes/attached_volumes.hpp"
#include "rated_resources.hpp"

#include <cmath>

namespace berth::legacy {
namespace {

constexpr char k_volumes_args[] = BERTH_LEGACY_ARGS(BERTH_LEGACY_MAX_SCORE BERTH_LEGACY_MAX_VOLUMES);

/// Of cpu and memory.
class Shares {
 public:
  explicit Shares(Setup& setup) : resources_(setup, {{"cpu", 1}, {"memory", 1}}, false) {}

  struct Pair {
    double cpu;
    double memory;
    bool full() const noexcept { return cpu >= 1.0 || memory >= 1.0; }
  };
  /// visit(row, pair) for each candidate.
  template <class Visit>
  void each(const Cycle& cycle, const ScoreBlock& block, Visit&& visit) const {
    const std::vector<Rated> rated = resources_.bind(cycle.pod(), block);
    const auto share = [](const Rated& each, std::uint32_t row) {
      const std::int64_t offered = each.offered(row);
      return offered == 0 ? 1.0 : static_cast<double>(each.wanted(row)) / static_cast<double>(offered);
    };
    block.each_candidate([&](std::uint32_t row) { visit(row, Pair{share(rated[0], row), share(rated[1], row)}); });
  }

 private:
  RatedResources resources_;
};

std::int64_t of_two(const Shares::Pair& pair, double max_score) {
  return pair.full() ? 0 : static_cast<std::int64_t>((1.0 - std::fabs(pair.cpu - pair.memory)) * max_score);
}

std::int64_t of_three(const Shares::Pair& pair, double volumes, double max_score) {
  if (pair.full() || volumes >= 1.0) return 0;
  const double mean = (pair.cpu + pair.memory + volumes) / 3.0;
  const auto squared = [mean](double share) { return (share - mean) * (share - mean); };
  const double variance = (squared(pair.cpu) + squared(pair.memory) + squared(volumes)) / 3.0;
  return static_cast<std::int64_t>((1.0 - variance) * max_score);
}

/// One minus the difference of the used shares of cpu and memory.
class BalancedResourceAllocation {
 public:
  static constexpr Identity identity =
      identity_of("BalancedResourceAllocation", "Prefers nodes where cpu and memory would be used to the same degree.",
                  k_usage_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr const char* services[] = {Intern::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit BalancedResourceAllocation(Setup& setup)
      : max_score_(static_cast<double>(read_max_score(setup.args()))), shares_(setup) {}

  void score(const Cycle& cycle, ScoreBlock& block) const {
    shares_.each(cycle, block,
                 [&](std::uint32_t row, const Shares::Pair& pair) { block(row) = of_two(pair, max_score_); });
  }

 private:
  double max_score_;
  Shares shares_;
};

/// One minus the variance of the shares of cpu, memory and disks, where the pod brings disks and the node has a limit
/// for them; else as the other.
class BalancedWithVolumes {
 public:
  struct State {
    std::vector<double> volumes;  // by slot; empty: the pod brings none
  };
  static constexpr Identity identity = identity_of(
      "BalancedResourceAllocationWithVolumes",
      "Prefers nodes where cpu, memory and disks would be used to the same degree.", k_usage_deps | BERTH_DEP_OBJECTS);
  static constexpr const char* args_schema = k_volumes_args;
  static constexpr const char* services[] = {Intern::id, Sets::id, Objects::id, NodeColumns::id};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",
                                            "storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1/csinodes"};
  static constexpr std::array<Interest, 0> interests{};

  explicit BalancedWithVolumes(Setup& setup)
      : max_score_(static_cast<double>(read_max_score(setup.args()))),
        shares_(setup),
        attached_(std::make_unique<AttachedVolumes>(setup)) {}

  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    out.make(State{attached_->shares(cycle, out.nodes())});
    return Verdict::ok();
  }
  void score(const Cycle& cycle, ScoreBlock& block) const {
    const std::vector<double>& volumes = prepared<State>(cycle, "preScore").volumes;
    shares_.each(cycle, block, [&](std::uint32_t row, const Shares::Pair& pair) {
      const Slot slot = block.slot(row);
      const double share = slot < volumes.size() ? volumes[slot] : AttachedVolumes::k_unknown;
      block(row) = share < 0 ? of_two(pair, max_score_) : of_three(pair, share, max_score_);
    });
  }

 private:
  double max_score_;
  Shares shares_;
  std::unique_ptr<AttachedVolumes> attached_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_balanced, berth::legacy::BalancedResourceAllocation, berth::legacy::BalancedWithVolumes)
