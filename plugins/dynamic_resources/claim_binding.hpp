// SPDX-License-Identifier: Apache-2.0
/// What is written about claims once their pod has a node: finalizer, allocation and reservation, then the wait for devices that
/// have to be prepared.
///
/// A binding in progress lives until it has answered, and holds no thread while it waits.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreBind, bindClaim).
#pragma once
#include <berth/object_writes.hpp>

#include "claim_deletion.hpp"
#include "claim_metrics.hpp"
#include "cycle_state.hpp"

namespace dynamic_resources {

/// What the writing points need.
struct BindingServices {
  DeviceCluster& cluster;
  berth::ObjectWrites writes;
  berth::Assume assume;
  berth::Clock clock;
  berth::Executor executor;
  berth::Events events;
  berth::Log log;
  ClaimMetrics metrics;
  std::int64_t binding_timeout_ns;
};

struct PodName {
  std::string ns, name, uid;
};

/// Answers `call` with the outcome, later. The state must live until then.
void bind_claims(const BindingServices& services, CycleState& state, PodName pod, berth::BindCall call);

/// Takes back what reserve and pre-bind did for the pod: allocations in flight at once, reservations in the cluster later.
void release_claims(const BindingServices& services, CycleState& state, const PodName& pod);

/// The status of a claim that is given up, as JSON.
std::string cleared_status(const ClaimObject& claim);

}  // namespace dynamic_resources
