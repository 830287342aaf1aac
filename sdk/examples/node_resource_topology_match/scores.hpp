// SPDX-License-Identifier: Apache-2.0
/// How well zones suit what is asked for, 0 … 100.
///
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology: score.go and the files of the strategies.
#pragma once
#include <map>

#include "numa.hpp"

namespace node_resource_topology_match {

enum class Strategy { most_allocated, least_allocated, balanced_allocation, least_numa_nodes };

/// By resource; others weigh 1.
using Weights = std::map<berth::Id, std::int64_t>;

/// The share of a zone that is used then, or is left, as the mean of the resources that are asked for.
inline std::int64_t share_of(const Zone& zone, const Request& request, const Weights& weights, bool is_most) {
  __extension__ using Wide = __int128;
  Wide sum = 0, total = 0;
  for (const Asked& asked : request) {
    const auto weight = weights.find(asked.resource);
    const Wide factor = weight == weights.end() ? 1 : weight->second;
    total += factor;
    const std::int64_t* const available = zone.find(asked.resource);
    if (available == nullptr || *available == 0 || asked.amount > *available) continue;
    const std::int64_t capacity = whole(*available, asked.is_cpu), used = whole(asked.amount, asked.is_cpu);
    sum += Wide{is_most ? used : capacity - used} * 100 / capacity * factor;
  }
  return total == 0 ? 0 : static_cast<std::int64_t>(sum / total);
}

/// 100 less the variance of the shares; of fewer than two there is none. 0 where one resource does not fit.
inline std::int64_t balance_of(const Zone& zone, const Request& request) {
  std::vector<double> shares;
  for (const Asked& asked : request) {
    const std::int64_t* const available = zone.find(asked.resource);
    const std::int64_t capacity = available == nullptr ? 0 : whole(*available, asked.is_cpu);
    shares.push_back(
        capacity == 0 ? 1.0 : static_cast<double>(whole(asked.amount, asked.is_cpu)) / static_cast<double>(capacity));
    if (shares.back() > 1) return 0;
  }
  if (shares.size() < 2) return 100;
  const auto count = static_cast<double>(shares.size());
  double mean = 0, squares = 0, rest = 0;
  for (const double share : shares) mean += share;
  mean /= count;
  for (const double share : shares) {
    squares += (share - mean) * (share - mean);
    rest += share - mean;
  }
  return static_cast<std::int64_t>((1 - (squares - rest * rest / count) / (count - 1)) * 100);
}

/// That of the zone that suits least, of those that suit at all.
inline std::int64_t score_of_zones(const Zones& zones, const Request& request, Strategy strategy,
                                   const Weights& weights) {
  std::int64_t least = 0;
  for (const Zone& zone : zones) {
    const std::int64_t score = strategy == Strategy::balanced_allocation
                                   ? balance_of(zone, request)
                                   : share_of(zone, request, weights, strategy == Strategy::most_allocated);
    if (least == 0 || (score != 0 && score < least)) least = score;
  }
  return least;
}

/// requests: of the containers, one after the other, or one of the pod.
inline std::int64_t least_numa_score(Zones zones, const std::vector<Request>& requests, int max_numa_nodes) {
  std::size_t most = 0;
  bool is_min_distance = true;
  for (const Request& request : requests) {
    if (knows_none(zones, request)) continue;
    const Required required = required_zones(zones, request, true);
    if (required.places.empty()) return 0;
    is_min_distance = is_min_distance && required.is_min_distance;
    most = std::max(most, required.places.size());
    if (requests.size() > 1) take(zones, required.places, request);
  }
  return most == 0 ? 100 : points_of(most, is_min_distance, max_numa_nodes);
}

}  // namespace node_resource_topology_match
