// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "app/simulate_report.hpp"

/// Builders for reports that say only what matters.
namespace berth::app {

inline PodLine pod_line(std::string name, PodState state) {
  PodLine pod;
  pod.ns = "shop";
  pod.name = std::move(name);
  pod.state = state;
  pod.scheduler_name = "default-scheduler";
  return pod;
}
inline PodLine placed(std::string name, std::string node) {
  PodLine pod = pod_line(std::move(name), PodState::placed);
  pod.node = std::move(node);
  pod.attempts = 1;
  pod.evaluated_nodes = 9;
  pod.feasible_nodes = 4;
  return pod;
}
inline PodLine pending(std::string name, std::string message) {
  PodLine pod = pod_line(std::move(name), PodState::pending);
  pod.message = std::move(message);
  pod.attempts = 2;
  return pod;
}
/// Requested and allocatable cpu; 8 of 32 GiB; 1 of 110 pods; nothing of ephemeral storage.
inline NodeLine node_line(std::string name, std::int64_t cpu_milli, std::int64_t of_cpu_milli) {
  constexpr std::int64_t k_gib = std::int64_t{1} << 30;
  return {std::move(name), "zone-a", false, {{cpu_milli, of_cpu_milli}, {8 * k_gib, 32 * k_gib}, {1, 110}, {0, 0}}};
}
inline SimulationReport report_of(std::vector<PodLine> pods, std::vector<NodeLine> nodes) {
  return {{{"cpu", AmountUnit::milli_cores},
           {"memory", AmountUnit::bytes},
           {"pods", AmountUnit::count},
           {"ephemeral-storage", AmountUnit::bytes}},
          std::move(pods),
          std::move(nodes),
          {}};
}

}  // namespace berth::app
