// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "cache/assumption.hpp"
#include "framework/points/permit.hpp"
#include "framework/points/reserve.hpp"
#include "model/node.hpp"

namespace berth::cycle {

/// A pod with a node: assumed in the cache and reserved by the plugins, and after permit allowed or told to wait. Dropping it
/// gives both back, the plugins' part first.
///
/// Made by SchedulingCycle, ended by binding. Threads: owned by one at a time.
struct Placement {
  cache::Assumption assumption;
  framework::Reservation reservation;             // ends before the assumption
  model::NodePtr node = {};                       // as the cycle saw it
  std::vector<framework::PermitWait> waits = {};  // permit plugins that asked for time
  std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
  std::int64_t total = 0;  // the node's weighted sum of scores; 0: nodes were not compared

  /// The pod has its node: nothing is given back.
  void confirm() noexcept {
    assumption.confirm();
    reservation.confirm();
  }
};

}  // namespace berth::cycle
