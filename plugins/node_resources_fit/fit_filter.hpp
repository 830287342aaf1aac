// SPDX-License-Identifier: Apache-2.0
/// Does a node have what a pod asks for? The rules of NodeResourcesFit's filter and of its queueing hints, over columns
/// that follow the pod (one array per resource that the pod mentions).
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/fit.go.
#pragma once
#include <berth/filter.hpp>
#include <berth/points.hpp>
#include <berth/services.hpp>
#include <berth/vector_clones.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace berth::node_resources_fit {

/// A resource that can fail: index into the pod's resources, and an amount above 0.
struct Demand {
  std::uint32_t resource = 0;
  std::int64_t amount = 0;
  Id name = 0;
  bool devices_stand_in = false;  ///< on nodes without any, devices of a class do: another policy's affair
};

/// cpu, memory and ephemeral-storage stand first among a pod's resources, always.
inline constexpr std::uint32_t k_native_count = 3;

/// What the filter compares. Negative sums count as nothing. `ignored(resource)` leaves extended resources out.
template <class Ignored>
std::vector<Demand> demands_of(Pod pod, Ignored&& ignored) {
  std::vector<Demand> demands;
  const auto resources = pod.resources();
  for (std::uint32_t i = 0; i < resources.size(); ++i) {
    const berth_resource_v1& each = resources[i];
    const bool scalar = (each.flags & BERTH_RESOURCE_SCALAR) != 0;
    if (each.request <= 0 || (i >= k_native_count && !scalar)) continue;
    if ((each.flags & BERTH_RESOURCE_EXTENDED) != 0 && ignored(each)) continue;
    demands.push_back({i, each.request, each.name, false});
  }
  return demands;
}

inline constexpr Reason k_too_many_pods = 1;
inline constexpr Reason k_insufficient_native = 2;  ///< +0 cpu, +1 memory, +2 ephemeral-storage

/// Rows of the plugin's reason table, in the order of the numbers above.
inline constexpr ReasonText k_fit_reasons[] = {{"Too many pods", "TooManyPods"},
                                               {"Insufficient cpu", "InsufficientCpu"},
                                               {"Insufficient memory", "InsufficientMemory"},
                                               {"Insufficient ephemeral-storage", "InsufficientEphemeralStorage"}};

class FitFilter {
 public:
  FitFilter(IntColumn pods, IntColumn pods_allowed, PodColumns free, PodColumns capacity, Reasons reasons,
            Intern intern)
      : pods_(pods),
        pods_allowed_(pods_allowed),
        free_(free),
        capacity_(capacity),
        reasons_(reasons),
        intern_(intern) {}

  BERTH_VECTOR_CLONES void run(std::span<const Demand> demands, FilterBlock& block) const {
    const std::int64_t* const* free = block[free_];
    const std::int64_t* const* capacity = block[capacity_];
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Mask open = block.open(w);
      if (!open.any()) continue;
      const Rows rows = block.word(w);
      const Mask full = rows[pods_allowed_] <= rows[pods_];
      Mask failed = full;
      Mask beyond = Mask::none();
      for (const Demand& demand : demands) {
        const Mask lacks = lacks_of(free, capacity, demand, w);
        failed |= lacks;
        if ((lacks && open).any())
          beyond |= lacks && Lane(capacity[demand.resource] + std::size_t{64} * w) < demand.amount;
      }
      failed &= open;
      if (!failed.any()) continue;
      if (block.wants_reasons()) {
        explain(demands, block, w, failed, full, beyond);
      } else {
        block.reject(w, failed && beyond, unresolvable(0));
        block.reject(w, failed, unschedulable(0));
      }
    }
  }

 private:
  static Mask lacks_of(const std::int64_t* const* free, const std::int64_t* const* capacity, const Demand& demand,
                       std::uint32_t w) {
    const Mask lacks = Lane(free[demand.resource] + std::size_t{64} * w) < demand.amount;
    if (!demand.devices_stand_in) return lacks;
    return lacks && Lane(capacity[demand.resource] + std::size_t{64} * w) > std::int64_t{0};
  }

  /// All reasons of a row count, so rows that fail in the same way share one id.
  void explain(std::span<const Demand> demands, FilterBlock& block, std::uint32_t w, Mask failed, Mask full,
               Mask beyond) const {
    std::vector<Mask> lacking;
    for (const Demand& demand : demands) lacking.push_back(lacks_of(block[free_], block[capacity_], demand, w));
    while (failed.any()) {
      const auto row = static_cast<unsigned>(std::countr_zero(failed.bits()));
      Mask alike = failed && (full[row] ? full : !full);
      for (const Mask& lacks : lacking) alike &= lacks[row] ? lacks : !lacks;
      const Reason reason = reason_for(demands, lacking, row, full[row]);
      block.reject(w, alike && beyond, unresolvable(reason));
      block.reject(w, alike, unschedulable(reason));
      failed &= !alike;
    }
  }

  Reason reason_for(std::span<const Demand> demands, const std::vector<Mask>& lacking, unsigned row, bool full) const {
    Reason only = 0;
    std::size_t count = 0;
    std::vector<std::string> sentences;
    if (full) {
      only = k_too_many_pods;
      ++count;
      sentences.emplace_back(k_fit_reasons[0].text);
    }
    for (std::size_t i = 0; i < demands.size(); ++i) {
      if (!lacking[i][row]) continue;
      const Demand& demand = demands[i];
      only = demand.resource < k_native_count ? k_insufficient_native + demand.resource : 0;
      ++count;
      sentences.push_back("Insufficient " + std::string(intern_.text(demand.name)));
    }
    if (count == 1 && only != 0) return only;
    std::vector<berth_str> texts;
    for (const std::string& sentence : sentences) texts.push_back(borrow(sentence));
    return reasons_.make(texts);
  }

  IntColumn pods_;
  IntColumn pods_allowed_;
  PodColumns free_;
  PodColumns capacity_;
  Reasons reasons_;
  Intern intern_;
};

/// The hints. A pod that left, or that got smaller, may have made room; a node helps if the pod fits on it when empty
/// and it offers more of something than before.
class FitHints {
 public:
  FitHints(IntColumn pods_allowed, PodColumns capacity) : pods_allowed_(pods_allowed), capacity_(capacity) {}

  bool after_pod_event(const Event& event, Pod waiting) const {
    const auto before = event.old_pod();
    const auto after = event.new_pod();
    if (!after) return !before || before->node_name() != 0 || before->nominated_node() != 0;
    if (after->uid() == waiting.uid()) return true;
    if (after->node_name() == 0 || !before) return false;
    const auto wanted = waiting.resources();
    return std::any_of(wanted.begin(), wanted.end(), [&](const berth_resource_v1& each) {
      return each.effective != 0 && charged(*before, each.name) > charged(*after, each.name);
    });
  }

  bool after_node_event(const Event& event, Pod waiting) const {
    const auto after = event.new_node();
    if (!after) return false;
    const auto demands = demands_of(waiting, [](const berth_resource_v1&) { return false; });
    const Block now(event.raw()->new_node);
    const std::int64_t allowed = (*after)[pods_allowed_];
    if (allowed < 1) return false;
    for (const Demand& demand : demands)
      if (capacity(now, demand) < demand.amount) return false;
    if (!event.old_node()) return true;
    const Block old(event.raw()->old_node);
    if (allowed > (*event.old_node())[pods_allowed_]) return true;
    return std::any_of(demands.begin(), demands.end(),
                       [&](const Demand& demand) { return capacity(now, demand) > capacity(old, demand); });
  }

 private:
  std::int64_t capacity(const Block& block, const Demand& demand) const { return block[capacity_][demand.resource][0]; }

  static std::int64_t charged(Pod pod, Id resource) {
    for (const berth_resource_v1& each : pod.resources())
      if (each.name == resource) return std::max<std::int64_t>(0, each.effective);
    return 0;
  }

  IntColumn pods_allowed_;
  PodColumns capacity_;
};

}  // namespace berth::node_resources_fit
