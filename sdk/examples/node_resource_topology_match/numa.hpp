// SPDX-License-Identifier: Apache-2.0
/// NUMA zones of a node, and how many of them an amount of resources needs.
///
/// Units:   cpu in milli-cores, all else in units.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology: numaresources.go and least_numa.go.
#pragma once
#include <berth/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace node_resource_topology_match {

/// What a container, or a pod as a whole, asks for of one resource.
struct Asked {
  berth::Id resource = 0;
  std::int64_t amount = 0;
  bool is_cpu = false;
  bool is_numa_affine = false;  ///< cpu, memory and huge pages: exclusive to pods of class Guaranteed alone
  bool is_host_level = false;   ///< may be of no zone
};
using Request = std::vector<Asked>;

/// As a quantity's Value(): cpu in whole cores, rounded up.
inline std::int64_t whole(std::int64_t amount, bool is_cpu) noexcept { return is_cpu ? (amount + 999) / 1000 : amount; }

/// A zone of type Node.
struct Zone {
  int id = 0;
  std::vector<std::pair<berth::Id, std::int64_t>> available;
  std::vector<std::pair<int, int>> costs;  ///< distances, by id of the other zone

  const std::int64_t* find(berth::Id resource) const noexcept {
    for (const auto& each : available)
      if (each.first == resource) return &each.second;
    return nullptr;
  }
  std::int64_t* find(berth::Id resource) noexcept {
    return const_cast<std::int64_t*>(std::as_const(*this).find(resource));
  }
  /// 255 where the zone does not say.
  int cost_to(int other) const noexcept {
    for (const auto& each : costs)
      if (each.first == other) return each.second;
    return 255;
  }
};
using Zones = std::vector<Zone>;

/// Only pods of class Guaranteed get cpu, memory and huge pages of a zone for themselves.
inline bool suits(bool is_guaranteed, const Asked& asked, std::int64_t available) noexcept {
  return (!is_guaranteed && asked.is_numa_affine) || available >= asked.amount;
}

inline bool knows_none(const Zones& zones, const Request& request) noexcept {
  return std::all_of(request.begin(), request.end(), [&](const Asked& asked) {
    return std::all_of(zones.begin(), zones.end(),
                       [&](const Zone& zone) { return zone.find(asked.resource) == nullptr; });
  });
}

/// Places in a list of zones.
using Combination = std::vector<std::size_t>;

/// Calls visit for each combination of `size` of `count` places, in lexical order, until it says false.
template <class Visit>
void each_combination(std::size_t count, std::size_t size, Visit&& visit) {
  Combination places(size);
  for (std::size_t i = 0; i < size; ++i) places[i] = i;
  while (size <= count) {
    if (!visit(std::as_const(places))) return;
    std::size_t moves = size;
    while (moves > 0 && places[moves - 1] == count - size + moves - 1) --moves;
    if (moves == 0) return;
    ++places[moves - 1];
    for (std::size_t i = moves; i < size; ++i) places[i] = places[i - 1] + 1;
  }
}

/// The mean of the distances between all zones of a combination, each to itself included.
inline float mean_distance(const Zones& zones, const Combination& places) noexcept {
  if (places.empty()) return 255;
  int sum = 0;
  for (const std::size_t from : places)
    for (const std::size_t to : places) sum += zones[from].cost_to(zones[to].id);
  return static_cast<float>(sum) / static_cast<float>(places.size() * places.size());
}

/// Of the combinations that fit, one with as few zones as possible, and of those the nearest to each other.
struct Required {
  Combination places;            ///< empty: nothing fits
  bool is_min_distance = false;  ///< no other combination of as many zones is nearer, whether it fits or not
};
/// More zones than that are not combined: a node with 16 has 65,535 combinations.
inline constexpr std::size_t k_most_zones = 16;

inline Required required_zones(const Zones& zones, const Request& request, bool is_guaranteed) {
  const auto fits = [&](const Combination& places) {
    return std::all_of(request.begin(), request.end(), [&](const Asked& asked) {
      std::int64_t sum = 0;
      for (const std::size_t place : places) {
        const std::int64_t* const available = zones[place].find(asked.resource);
        if (available == nullptr) return false;
        if (__builtin_add_overflow(sum, *available, &sum)) sum = std::numeric_limits<std::int64_t>::max();
      }
      return asked.amount == 0 || suits(is_guaranteed, asked, sum);
    });
  };
  if (zones.size() > k_most_zones) return {};
  for (std::size_t size = 1; size <= zones.size(); ++size) {
    float nearest = 255, nearest_that_fits = 256;
    each_combination(zones.size(), size, [&](const Combination& places) {
      nearest = std::min(nearest, mean_distance(zones, places));
      return true;
    });
    Required found;
    each_combination(zones.size(), size, [&](const Combination& places) {
      if (!fits(places)) return true;
      const float distance = mean_distance(zones, places);
      if (distance == nearest || distance < nearest_that_fits) found = {places, distance == nearest};
      nearest_that_fits = std::min(nearest_that_fits, distance);
      return distance != nearest;
    });
    if (!found.places.empty()) return found;
  }
  return {};
}

/// Takes what is asked for from the zones, from the first as much as it has.
inline void take(Zones& zones, const Combination& places, const Request& request) noexcept {
  for (const Asked& asked : request) {
    std::int64_t left = asked.amount;
    for (const std::size_t place : places) {
      std::int64_t* const available = zones[place].find(asked.resource);
      if (left == 0 || available == nullptr) continue;
      const std::int64_t taken = std::min(left, *available);
      left -= taken;
      *available -= taken;
    }
  }
}

/// Fewer zones score more; a combination that could not be nearer half a step more than others. Never below 0.
inline std::int64_t points_of(std::size_t zones, bool is_min_distance, int max_numa_nodes) noexcept {
  const std::int64_t step = 100 / max_numa_nodes;
  const std::int64_t points = 100 - static_cast<std::int64_t>(zones) * step + (is_min_distance ? step / 2 : 0);
  return std::max<std::int64_t>(points, 0);
}

}  // namespace node_resource_topology_match
