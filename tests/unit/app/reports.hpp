// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "report/simulate_report.hpp"

/// Builders for reports that say only what matters.
namespace berth::app {

inline report::PodLine pod_line(std::string name, report::PodState state) {
  report::PodLine pod;
  pod.ns = "shop";
  pod.name = std::move(name);
  pod.state = state;
  pod.scheduler_name = "default-scheduler";
  return pod;
}
inline report::PodLine placed(std::string name, std::string node) {
  report::PodLine pod = pod_line(std::move(name), report::PodState::placed);
  pod.node = std::move(node);
  pod.attempts = 1;
  pod.evaluated_nodes = 9;
  pod.feasible_nodes = 4;
  return pod;
}
inline report::PodLine pending(std::string name, std::string message) {
  report::PodLine pod = pod_line(std::move(name), report::PodState::pending);
  pod.message = std::move(message);
  pod.attempts = 2;
  return pod;
}
/// Requested and allocatable cpu; 8 of 32 GiB; 1 of 110 pods; nothing of ephemeral storage.
inline report::NodeLine node_line(std::string name, std::int64_t cpu_milli, std::int64_t of_cpu_milli) {
  constexpr std::int64_t k_gib = std::int64_t{1} << 30;
  return {std::move(name), "zone-a", false, {{cpu_milli, of_cpu_milli}, {8 * k_gib, 32 * k_gib}, {1, 110}, {0, 0}}};
}
inline report::SimulationReport report_of(std::vector<report::PodLine> pods, std::vector<report::NodeLine> nodes) {
  return {{{"cpu", report::AmountUnit::milli_cores},
           {"memory", report::AmountUnit::bytes},
           {"pods", report::AmountUnit::count},
           {"ephemeral-storage", report::AmountUnit::bytes}},
          std::move(pods),
          std::move(nodes),
          {}};
}

}  // namespace berth::app
