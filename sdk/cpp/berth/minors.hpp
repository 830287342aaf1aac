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

// 1.0 has all that is listed here. What a later minor brings is told apart by the first branch that does not name it: add
// the minors to the tables with the header.

/// BERTH_COL_*. What Setup::column() names when the host does not have it.
constexpr Minor minor_of_column(std::uint32_t kind) noexcept {
  return kind <= BERTH_COL_HAS_STATUS_CAPACITY ? 0 : BERTH_ABI_MINOR;
}

/// Of all BERTH_POD_* bits together: the newest of them decides.
constexpr Minor minor_of_pod_groups(std::uint64_t groups) noexcept {
  // JSON stands apart, so that bits in between are later ones.
  constexpr std::uint64_t k_first = ((std::uint64_t{BERTH_POD_QOS} << 1) - 1) | BERTH_POD_JSON;
  return (groups & ~k_first) == 0 ? 0 : BERTH_ABI_MINOR;
}

/// BERTH_DEP_*, of Identity::deps, filter_deps or score_deps. "Everything" is known to every host.
/// A bit that is not known is refused by the host, so it requires this header's minor.
constexpr Minor minor_of_deps(std::uint32_t deps) noexcept {
  return deps == BERTH_DEP_EVERYTHING || deps <= (BERTH_DEP_ANNOUNCED << 1) - 1 ? 0 : BERTH_ABI_MINOR;
}
/// BERTH_FILTER_*. Likewise.
constexpr Minor minor_of_filter_flags(std::uint32_t flags) noexcept {
  return (flags & ~std::uint32_t{BERTH_FILTER_RECORDS}) == 0 ? 0 : BERTH_ABI_MINOR;
}
/// BERTH_PREPARE_*. Likewise.
constexpr Minor minor_of_prepare_flags(std::uint32_t flags) noexcept {
  constexpr std::uint32_t k_first = BERTH_PREPARE_SKIP_SCORES_ZERO | BERTH_PREPARE_SCORE_WITHOUT_NODES;
  return (flags & ~k_first) == 0 ? 0 : BERTH_ABI_MINOR;
}
/// BERTH_NORM_*.
constexpr Minor minor_of_normalization(std::uint32_t kind) noexcept {
  return kind <= BERTH_NORM_MINMAX_INTEGER ? 0 : BERTH_ABI_MINOR;
}
/// BERTH_KIND_*, of an interest; a number from KIND_WATCH on is a watch.
constexpr Minor minor_of_kind(std::uint32_t kind) noexcept {
  return kind <= BERTH_KIND_UNSCHEDULABLE_POD || kind >= BERTH_KIND_ANY ? 0 : BERTH_ABI_MINOR;
}

/// Of an extension point or a service: "berth.filter/1".
constexpr Minor minor_of_id(std::string_view id) noexcept {
  // Linear: about 40 ids, at compile time for the most part.
  constexpr std::string_view k_first[] = {
      "berth.queue/1",      "berth.prepare/1", "berth.filter/1",        "berth.post_filter/1",   "berth.score/1",
      "berth.reserve/1",    "berth.permit/1",  "berth.bind/1",          "berth.requeue/1",       "berth.groups/1",
      "berth.log/1",        "berth.metrics/1", "berth.events/1",        "berth.clock/1",         "berth.intern/1",
      "berth.reasons/1",    "berth.cycle/1",   "berth.executor/1",      "berth.queue_control/1", "berth.epoch/1",
      "berth.sets/1",       "berth.labels/1",  "berth.objects/1",       "berth.waiting/1",       "berth.nodes/1",
      "berth.dry_run/1",    "berth.assume/1",  "berth.writes/1",        "berth.pod_index/1",     "berth.preemption/1",
      "berth.node_order/1", "berth.pods/1",    "berth.object_writes/1", "berth.shared/1",        "berth.debug_pages/1",
      "berth.gates/1",      "berth.domains/1",
  };
  for (const std::string_view known : k_first)
    if (known == id) return 0;
  return BERTH_ABI_MINOR;
}

}  // namespace sdk
}  // namespace berth
