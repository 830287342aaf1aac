// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/symbols.hpp"
#include "framework/view/pod_field_groups.hpp"

namespace berth::framework {

/// Which parts of a pod one plugin instance asked for. Constant after create().
struct PodFields {
  std::uint64_t groups = 0;      // BERTH_POD_*
  std::vector<Symbol> labels;    // single labels, sorted; used when the LABELS group is not requested
  std::vector<Symbol> requests;  // resources by name, in the order of berth_pod_v1::requests
  bool is_trapped = false;       // what was not asked for are traps: see pods.h
};

/// Where the traps of fields that were not asked for point: pages that cannot be read. A signal with such an address is of a
/// plugin that reads them.
struct PodTrap {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};
/// Made at the first call. Threads: any.
PodTrap pod_trap();

/// A pod in the shapes of the plugin ABI.
///
/// Made from a model::Pod into an arena, group by group on demand, so that a plain pod costs little; view() then gives
/// each instance exactly the groups it asked for. Lifetime: pod and arena must outlive it. Threads: one at a time.
class PodView {
 public:
  void reset(const model::Pod& pod, Arena& arena) noexcept {
    parts_ = {&pod, &arena, {}, {}, false, false};
    built_ = 0;
  }
  const model::Pod& pod() const noexcept { return *parts_.pod; }
  /// The pod restricted to `fields`, in the arena.
  const berth_pod_v1* view(const PodFields& fields);
  /// All resources of the pod in view order.
  std::span<const berth_resource_v1> resources();

 private:
  void build(std::uint64_t groups);
  static void trap(const PodFields& fields, berth_pod_v1& view);

  PodParts parts_;
  std::uint64_t built_ = 0;
};

}  // namespace berth::framework
