// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/symbols.hpp"

namespace berth::model {

/// Amounts by resource name. cpu in milli-cores, everything else in units, rounded up once from the exact sum.
struct ResourceAmount {
  Symbol name = 0;
  std::int64_t amount = 0;
  friend bool operator==(const ResourceAmount&, const ResourceAmount&) = default;
};

/// What a pod asks for, in the three sums that upstream uses in different places, parallel by resource.
/// cpu, memory and ephemeral-storage stand first, always (0 when not asked for), then scalars in order of their name's
/// text. Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/resource/helpers.go.
struct PodResource {
  Symbol name = 0;
  bool scalar = false;
  bool extended = false;
  std::int64_t request = 0;    // spec, pod-level honoured, status ignored           (fit filter)
  std::int64_t effective = 0;  // status, pod-level and in-place resize honoured       (what a node is charged)
  std::int64_t scoring = 0;    // spec, pod-level skipped, 100m / 200Mi per container  (fit score)
  friend bool operator==(const PodResource&, const PodResource&) = default;
};

/// What one container, or the overhead, says about one resource; each amount rounded up by itself.
struct ContainerAmount {
  Symbol name = 0;
  bool has_request = false, has_limit = false;
  std::int64_t request = 0, limit = 0;
  friend bool operator==(const ContainerAmount&, const ContainerAmount&) = default;
};

struct ContainerResources {
  enum class Kind : std::uint8_t { init = 1, app = 2, sidecar = 3 };
  Kind kind = Kind::app;
  std::vector<ContainerAmount> amounts;
  std::string name = {};  // of one that asks for a resource with a domain; empty otherwise
  friend bool operator==(const ContainerResources&, const ContainerResources&) = default;
};

/// By requests and limits of cpu and memory; the numbers of the plugin ABI.
enum class Qos : std::uint8_t { best_effort = 1, burstable = 2, guaranteed = 3 };

struct PodRequests {
  std::vector<PodResource> resources;
  std::vector<ContainerResources> containers;  // init containers, then containers, in spec order
  std::vector<ContainerAmount> overhead;
  std::vector<ContainerAmount> whole;     // spec.resources: the limits, where resources of pods as a whole may have one
  std::int64_t nonzero_cpu_milli = 0;     // what a node is charged with 100m where absent
  std::int64_t nonzero_memory_bytes = 0;  // … and 200Mi
  Qos qos = Qos::best_effort;
  friend bool operator==(const PodRequests&, const PodRequests&) = default;
};

}  // namespace berth::model
