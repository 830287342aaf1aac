// SPDX-License-Identifier: Apache-2.0
/// What one attempt knows: made in pre-filter, written by filter (each node its own record), read by all later points.
#pragma once
#include <atomic>

#include "../shared/devices/device_cluster.hpp"
#include "../shared/devices/objects/go_quote.hpp"

namespace devices {

/// One claim of the pod. `object` is replaced by what is written.
struct CycleClaim {
  ClaimPtr object;
  std::shared_ptr<const AllocationObject> publish;  ///< what reserve chose; null: it was allocated before
  std::string publish_json;
  bool is_shared = false;  ///< `publish` is in flight already, for a pod of the same group: devices are not looked for
  bool is_signalled = false;  ///< its allocation is in flight because of this pod
  bool is_extended = false;   ///< made for extended resources
  std::string in_flight_uid;  ///< under which it was signalled: an extended claim gets another uid when it is created

  bool is_in_memory() const { return is_extended && object->name == k_in_memory_name; }
  /// Null: devices have to be found.
  const AllocationObject* allocation() const {
    return object->allocation != nullptr ? object->allocation.get() : is_shared ? publish.get() : nullptr;
  }
};

struct CycleState {
  bool is_empty = true;  ///< the pod has no claims, or pre-filter refused it
  std::vector<CycleClaim> claims;
  std::string group;       ///< of the pods that are placed together with it; empty: it goes by itself
  bool allocates = false;  ///< some claim has no allocation yet
  std::unique_ptr<dra::Allocator> allocator;  ///< if it allocates, until devices are reserved
  DeviceSnapshot devices;
  std::vector<std::shared_ptr<const dra::Claim>> wanted;        ///< the claims without allocation, in order
  std::shared_ptr<dra::ClaimShape> shape;                       ///< of them; null: there are none
  std::vector<std::shared_ptr<const dra::Allocation>> by_slot;  ///< what filter found
  std::unique_ptr<std::atomic<bool>[]> unavailable;             ///< by claim: on some node that is otherwise good
  std::atomic<std::uint64_t> search_steps{0};                   ///< of all nodes together, as the allocator counts
  std::once_flag named_once;
  std::vector<std::shared_ptr<const dra::PreparedClaim>>
      named;                                     ///< `wanted` by its own names, once an error needs them
  std::atomic<std::uint64_t> selector_steps{0};  ///< of all nodes together, of selectors that were evaluated
  bool scores = false;                           ///< some request has alternatives
  std::int64_t score_of_allocated = 0;           ///< of the claims that were allocated before
  std::unique_ptr<ExtendedState> extended;       ///< null: devices stand for none of the pod's resources
  const ExtendedCopy* chosen = nullptr;          ///< by reserve

  CycleState() = default;
};

/// Whether the devices of an allocated claim are ready for the pod.
struct Readiness {
  enum class Kind : std::uint8_t { ready, not_ready, failed };
  Kind kind = Kind::ready;
  std::string failure;  ///< failed: the condition that says so
};
/// Devices are looked at in order, up to the first that is not ready, as upstream: a failed one behind it stays unnoticed.
inline Readiness readiness_of(const ClaimObject& claim) {
  const auto is_true = [](const DeviceStatus& status, const std::string& type) -> const DeviceStatus::Condition* {
    for (const DeviceStatus::Condition& each : status.conditions)
      if (each.type == type) return each.status == "True" ? &each : nullptr;
    return nullptr;
  };
  for (const ResultObject& result : claim.allocation->results) {
    if (result.binding_conditions.empty()) continue;
    const DeviceStatus* status = nullptr;
    for (const DeviceStatus& each : claim.devices) {
      if (each.driver != result.driver || each.pool != result.pool || each.device != result.device) continue;
      status = &each;
      break;
    }
    if (status == nullptr) return {Readiness::Kind::not_ready, {}};
    for (const std::string& type : result.binding_failure_conditions) {
      const DeviceStatus::Condition* const failed = is_true(*status, type);
      if (failed == nullptr) continue;
      return {Readiness::Kind::failed, "device binding failed: claim=" + claim.name + ", reason=" + failed->reason +
                                           ", message=" + go_quoted(failed->message)};
    }
    for (const std::string& type : result.binding_conditions)
      if (is_true(*status, type) == nullptr) return {Readiness::Kind::not_ready, {}};
  }
  return {};
}

inline bool is_overdue(const AllocationObject& allocation, std::int64_t wall_ns, std::int64_t timeout_ns) {
  return allocation.has_binding_conditions() && allocation.time_ns && *allocation.time_ns + timeout_ns < wall_ns;
}

}  // namespace devices
