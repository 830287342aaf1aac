// SPDX-License-Identifier: Apache-2.0
/// What a pod asks for, in the sums of that time.
///
/// Every container's amount is rounded up before it is added. Init containers run one after the other, before the rest.
/// Sidecars and requests of the pod as a whole did not exist; nodes are charged with them today, so they are not left
/// out: a sidecar counts as running at the same time as the containers.
/// Source: kubernetes v1.16 pkg/scheduler/nodeinfo/node_info.go, pkg/scheduler/algorithm/{predicates,priorities}.
#pragma once
#include <berth/pod.hpp>

#include <algorithm>

namespace berth::legacy {

inline constexpr std::int64_t k_default_cpu_milli = 100;
inline constexpr std::int64_t k_default_memory_bytes = std::int64_t{200} * 1024 * 1024;

/// Ids that sums look for.
struct ComputeNames {
  Id cpu;
  Id memory;
};

inline const berth_container_amount_v1* find_amount(std::span<const berth_container_amount_v1> amounts,
                                                    Id name) noexcept {
  for (const berth_container_amount_v1& each : amounts)
    if (each.name == name) return &each;
  return nullptr;
}
inline std::span<const berth_container_amount_v1> amounts_of(const berth_container_v1& container) noexcept {
  return span_of(container.amounts, container.amount_count);
}

/// The sum over containers that run together, and no less than any init container: `amount(container)` is called for
/// each.
template <class Amount>
std::int64_t sum_or_init(Pod pod, bool with_init, Amount&& amount) {
  std::int64_t together = 0;
  std::int64_t alone = 0;
  for (const berth_container_v1& each : pod.containers()) {
    if (each.kind != BERTH_CONTAINER_INIT) {
      together += amount(each);
    } else if (with_init) {
      alone = std::max(alone, amount(each));
    }
  }
  return std::max(together, alone);
}

/// What predicates compare: requests and overhead.
inline std::int64_t request_of(Pod pod, Id name) {
  const berth_container_amount_v1* overhead = find_amount(pod.overhead(), name);
  return (overhead == nullptr ? 0 : overhead->request) + sum_or_init(pod, true, [&](const berth_container_v1& each) {
           const berth_container_amount_v1* amount = find_amount(amounts_of(each), name);
           return amount == nullptr ? 0 : amount->request;
         });
}

inline std::int64_t limit_of(Pod pod, Id name) {
  return sum_or_init(pod, true, [&](const berth_container_v1& each) {
    const berth_container_amount_v1* amount = find_amount(amounts_of(each), name);
    return amount == nullptr ? 0 : amount->limit;
  });
}

/// What priorities add to a node's sums: cpu and memory have defaults for containers that name none (an explicit 0
/// stays). The overhead is taken in whole units, for cpu too: 250m of it add one milli-core, as they did then.
/// `with_init`: v1.19 and later.
inline std::int64_t scoring_request_of(Pod pod, Id name, const ComputeNames& names, bool with_init) {
  const std::int64_t otherwise = name == names.cpu      ? k_default_cpu_milli
                                 : name == names.memory ? k_default_memory_bytes
                                                        : 0;
  const std::int64_t sum = sum_or_init(pod, with_init, [&](const berth_container_v1& each) {
    const berth_container_amount_v1* amount = find_amount(amounts_of(each), name);
    return amount != nullptr && (amount->flags & BERTH_AMOUNT_REQUEST) != 0 ? amount->request : otherwise;
  });
  const berth_container_amount_v1* overhead = find_amount(pod.overhead(), name);
  if (overhead == nullptr) return sum;
  return sum + (name == names.cpu ? (overhead->request + 999) / 1000 : overhead->request);
}

/// No container asks for cpu or memory, or limits them.
inline bool is_best_effort(Pod pod, const ComputeNames& names) noexcept {
  for (const berth_container_v1& each : pod.containers())
    for (const berth_container_amount_v1& amount : amounts_of(each))
      if ((amount.name == names.cpu || amount.name == names.memory) && (amount.request > 0 || amount.limit > 0))
        return false;
  return true;
}

}  // namespace berth::legacy
