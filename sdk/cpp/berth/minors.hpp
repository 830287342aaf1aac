// SPDX-License-Identifier: Apache-2.0
/// Which minor of the ABI brought what a policy may use, and from that the oldest host that can run a policy class.
///
/// Points, services, flags and interests are known when the policy is compiled: describe.hpp finds them. Columns and
/// groups of pod fields are asked for in the constructor: there Setup throws TooOld, with the minor that has them. What is
/// newer than this header counts as of this header's minor.
///
/// Source: sdk/abi/manifests and CHANGELOG.md; a test holds these tables against them.
/// Threads: any, and at compile time. An id or a number that is not known is no error: it counts as newest.
#pragma once
#include <berth/types.hpp>

namespace berth {
inline namespace sdk {

/// The y of ABI x.y, as in BERTH_ABI_MINOR and berth_host_v1::abi_minor.
using Minor = std::uint16_t;

/// BERTH_COL_*. What Setup::column() names when the host does not have it.
constexpr Minor minor_of_column(std::uint32_t kind) noexcept {
  // Listed is what came in between: all others came with 0.1 or with this header's minor.
  switch (kind) {
    case BERTH_COL_VOLUME_SET:
      return 2;
    case BERTH_COL_CONDITION:
      return 4;
    case BERTH_COL_LISTED:
      return 5;
    default:
      return kind <= BERTH_COL_POD_CAPACITY ? 1 : BERTH_ABI_MINOR;
  }
}

/// Of all BERTH_POD_* bits together: the newest of them decides. 1 for none.
constexpr Minor minor_of_pod_groups(std::uint64_t groups) noexcept {
  // Bits up to GROUP were there at first, and JSON, which stands apart.
  constexpr std::uint64_t k_first = ((std::uint64_t{BERTH_POD_GROUP} << 1) - 1) | BERTH_POD_JSON;
  // Of 0.2.
  constexpr std::uint64_t k_second = BERTH_POD_STORAGE | BERTH_POD_RESOURCE_CLAIMS;
  if ((groups & ~(k_first | k_second | BERTH_POD_CONTAINERS | BERTH_POD_CLAIMS)) != 0) return BERTH_ABI_MINOR;
  if ((groups & BERTH_POD_CLAIMS) != 0) return 5;
  if ((groups & BERTH_POD_CONTAINERS) != 0) return 4;
  return (groups & k_second) != 0 ? 2 : 1;
}

/// BERTH_DEP_*, of Identity::deps, filter_deps or score_deps. "Everything" is known to every host.
/// A bit that is not known is refused by the host, so it requires this header's minor.
constexpr Minor minor_of_deps(std::uint32_t deps) noexcept {
  return deps == BERTH_DEP_EVERYTHING || deps <= (BERTH_DEP_EXTERNAL << 1) - 1 ? 1 : BERTH_ABI_MINOR;
}
/// BERTH_FILTER_*.
/// Likewise.
constexpr Minor minor_of_filter_flags(std::uint32_t flags) noexcept {
  return (flags & ~std::uint32_t{BERTH_FILTER_RECORDS}) == 0 ? 1 : BERTH_ABI_MINOR;
}
/// BERTH_PREPARE_*, all of 0.6.
constexpr Minor minor_of_prepare_flags(std::uint32_t flags) noexcept { return flags == 0 ? 1 : BERTH_ABI_MINOR; }
/// BERTH_NORM_*.
constexpr Minor minor_of_normalization(std::uint32_t kind) noexcept {
  return kind <= BERTH_NORM_CUSTOM ? 1 : BERTH_ABI_MINOR;
}
/// BERTH_KIND_*, of an interest. Watches by their place among those of the instance came with 0.3.
constexpr Minor minor_of_kind(std::uint32_t kind) noexcept { return kind >= BERTH_KIND_OWN_WATCH ? 3 : 1; }

/// Of an extension point or a service: "berth.filter/1".
constexpr Minor minor_of_id(std::string_view id) noexcept {
  // Linear: about 40 ids, at compile time for the most part.
  // Those that came as drafts count from the minor that made them permanent.
  struct Since {
    std::string_view id;
    Minor minor;
  };
  constexpr Since k_known[] = {
      {"berth.queue/1", 1},      {"berth.prepare/1", 1},       {"berth.filter/1", 1},     {"berth.post_filter/1", 1},
      {"berth.score/1", 1},      {"berth.reserve/1", 1},       {"berth.permit/1", 1},     {"berth.bind/1", 1},
      {"berth.requeue/1", 1},    {"berth.log/1", 1},           {"berth.metrics/1", 1},    {"berth.events/1", 1},
      {"berth.clock/1", 1},      {"berth.intern/1", 1},        {"berth.reasons/1", 1},    {"berth.cycle/1", 1},
      {"berth.executor/1", 1},   {"berth.queue_control/1", 1}, {"berth.epoch/1", 1},      {"berth.sets/1", 1},
      {"berth.labels/1", 1},     {"berth.objects/1", 1},       {"berth.waiting/1", 1},    {"berth.nodes/1", 6},
      {"berth.dry_run/1", 6},    {"berth.assume/1", 6},        {"berth.writes/1", 6},     {"berth.pod_index/1", 6},
      {"berth.preemption/1", 6}, {"berth.groups/1", 6},        {"berth.node_order/1", 6}, {"berth.object_writes/1", 6},
      {"berth.shared/1", 6},     {"berth.debug_pages/1", 6},   {"berth.gates/1", 6},      {"berth.draft.domains/0", 6},
      {"berth.pods/1", 6},
  };
  for (const Since& since : k_known)
    if (since.id == id) return since.minor;
  return BERTH_ABI_MINOR;
}

}  // namespace sdk
}  // namespace berth
