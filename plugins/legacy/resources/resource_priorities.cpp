// SPDX-License-Identifier: Apache-2.0
// Priorities about cpu, memory and other resources: how full, and whether limits fit.
//
// All look at the state with the pod in place. A resource that the node does not offer scores 0 and still counts in the
// average. Source: kubernetes v1.16 pkg/scheduler/algorithm/priorities/{least,most}_requested.go,
// requested_to_capacity_ratio.go, resource_limits.go; v1.19 pkg/scheduler/framework/plugins/noderesources.
#include <berth/plugin.hpp>

#include "../v1_16_scores.hpp"
#include "rated_resources.hpp"
#include "ratio_shape.hpp"

#include <cmath>

namespace berth::legacy {
namespace {

constexpr char k_resources_args[] = BERTH_LEGACY_ARGS(BERTH_LEGACY_MAX_SCORE BERTH_LEGACY_RESOURCES);
constexpr char k_ratio_args[] = BERTH_LEGACY_ARGS(BERTH_LEGACY_MAX_SCORE BERTH_LEGACY_SHAPE BERTH_LEGACY_RESOURCES);
const std::vector<WeightedResource> k_cpu_and_memory = {{"cpu", 1}, {"memory", 1}};

/// Sum of share * weight over the sum of weights, each quotient truncated. `k_most`: the used share, else the free one;
/// a node that would be overcommitted scores 0 either way.
template <bool k_most>
class ByShare {
 public:
  static constexpr const char* services[] = {Intern::id};
  static constexpr std::array<Interest, 0> interests{};

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const std::vector<Rated> rated = resources_.bind(cycle.pod(), block);
    block.each_candidate([&](std::uint32_t row) {
      std::int64_t sum = 0;
      std::int64_t weights = 0;
      for (const Rated& each : rated) {
        const std::int64_t offered = each.offered(row);
        const std::int64_t wanted = each.wanted(row);
        weights += each.weight;
        if (offered == 0 || wanted > offered) continue;
        sum += scaled_quotient(k_most ? wanted : offered - wanted, max_score_, offered) * each.weight;
      }
      block(row) = sum / weights;
    });
  }

 protected:
  ByShare(Setup& setup, const std::vector<WeightedResource>& resources, bool with_init)
      : max_score_(read_max_score(setup.args())), resources_(setup, resources, with_init) {}

 private:
  std::int64_t max_score_;
  RatedResources resources_;
};

class LeastRequestedPriority : public ByShare<false> {
 public:
  static constexpr Identity identity =
      identity_of("LeastRequestedPriority", "Prefers nodes with much cpu and memory left.", k_usage_deps);
  static constexpr const char* args_schema = k_score_args;
  explicit LeastRequestedPriority(Setup& setup) : ByShare(setup, k_cpu_and_memory, false) {}
};

class MostRequestedPriority : public ByShare<true> {
 public:
  static constexpr Identity identity =
      identity_of("MostRequestedPriority", "Prefers nodes with little cpu and memory left.", k_usage_deps);
  static constexpr const char* args_schema = k_score_args;
  explicit MostRequestedPriority(Setup& setup) : ByShare(setup, k_cpu_and_memory, false) {}
};

class NodeResourcesLeastAllocated : public ByShare<false> {
 public:
  static constexpr Identity identity =
      identity_of("NodeResourcesLeastAllocated", "Prefers nodes with much of the named resources left.", k_usage_deps);
  static constexpr const char* args_schema = k_resources_args;
  explicit NodeResourcesLeastAllocated(Setup& setup) : ByShare(setup, read_rated(setup.args()), true) {}
};

class NodeResourcesMostAllocated : public ByShare<true> {
 public:
  static constexpr Identity identity =
      identity_of("NodeResourcesMostAllocated", "Prefers nodes with little of the named resources left.", k_usage_deps);
  static constexpr const char* args_schema = k_resources_args;
  explicit NodeResourcesMostAllocated(Setup& setup) : ByShare(setup, read_rated(setup.args()), true) {}
};

/// The used share in percent, rounded up, read off a line; shares that rate 0 do not count, the average is rounded.
class ByRatio {
 public:
  static constexpr const char* args_schema = k_ratio_args;
  static constexpr const char* services[] = {Intern::id};
  static constexpr std::array<Interest, 0> interests{};

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const std::vector<Rated> rated = resources_.bind(cycle.pod(), block);
    block.each_candidate([&](std::uint32_t row) {
      std::int64_t sum = 0;
      std::int64_t weights = 0;
      for (const Rated& each : rated) {
        const std::int64_t offered = each.offered(row);
        const std::int64_t wanted = each.wanted(row);
        const bool full = offered == 0 || wanted > offered;
        const std::int64_t rating = line_[full ? 100 : 100 - scaled_quotient(offered - wanted, 100, offered)];
        if (rating <= 0) continue;
        sum += rating * each.weight;
        weights += each.weight;
      }
      block(row) = weights == 0 ? 0 : std::llround(static_cast<double>(sum) / static_cast<double>(weights));
    });
  }

 protected:
  ByRatio(Setup& setup, const std::vector<ShapePoint>& otherwise, bool with_init)
      : line_(setup.args(), read_max_score(setup.args()), otherwise),
        resources_(setup, read_rated(setup.args()), with_init) {}

 private:
  RatioLine line_;
  RatedResources resources_;
};

class RequestedToCapacityRatioPriority : public ByRatio {
 public:
  static constexpr Identity identity{
      .name = "RequestedToCapacityRatioPriority",
      .version = "1.0.0",
      .summary = "Rates the used share of resources by a line; the free share by default.",
      .deps = k_usage_deps};
  explicit RequestedToCapacityRatioPriority(Setup& setup) : ByRatio(setup, {{0, 10}, {100, 0}}, false) {}
};

class RequestedToCapacityRatio : public ByRatio {
 public:
  static constexpr Identity identity =
      identity_of("RequestedToCapacityRatio", "Rates the used share of resources by a line.", k_usage_deps);
  explicit RequestedToCapacityRatio(Setup& setup) : ByRatio(setup, {}, true) {}
};

/// 1 where the pod's cpu limit or memory limit is not more than the whole node offers: decides between equals.
class ResourceLimitsPriority {
 public:
  static constexpr Identity identity =
      identity_of("ResourceLimitsPriority", "Prefers nodes that offer as much as the pod's limits.", k_static_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr const char* services[] = {Intern::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit ResourceLimitsPriority(Setup& setup)
      : names_{setup.service<Intern>()("cpu"), setup.service<Intern>()("memory")},
        cpu_(setup.allocatable("cpu")),
        memory_(setup.allocatable("memory")) {
    read_max_score(setup.args());  // is 1 at most, whatever the scale
    setup.pod_fields(BERTH_POD_CONTAINERS);
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const std::int64_t cpu = limit_of(cycle.pod(), names_.cpu);
    const std::int64_t memory = limit_of(cycle.pod(), names_.memory);
    const auto within = [](std::int64_t limit, Lane<std::int64_t> offered) {
      return Mask::all_if(limit != 0) && offered != 0 && offered >= limit;
    };
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Rows rows = block.word(w);
      const Mask good = within(cpu, rows[cpu_]) || within(memory, rows[memory_]);
      block.set(w, !good, 0);
      block.set(w, good, 1);
    }
  }

 private:
  ComputeNames names_;
  IntColumn cpu_;
  IntColumn memory_;
};

class NodeResourceLimits : public ResourceLimitsPriority {
 public:
  static constexpr Identity identity =
      identity_of("NodeResourceLimits", "ResourceLimitsPriority under its later name.", k_static_deps);
  using ResourceLimitsPriority::ResourceLimitsPriority;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_resources, berth::legacy::LeastRequestedPriority, berth::legacy::MostRequestedPriority,
                  berth::legacy::NodeResourcesLeastAllocated, berth::legacy::NodeResourcesMostAllocated,
                  berth::legacy::RequestedToCapacityRatioPriority, berth::legacy::RequestedToCapacityRatio,
                  berth::legacy::ResourceLimitsPriority, berth::legacy::NodeResourceLimits)
