// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/object.hpp"

namespace berth::report {

/// A device of a ResourceSlice. What it is counted as: allocated, else tainted, else blocked, else free.
struct DeviceLine {
  std::string name;
  std::vector<std::string> claims;  // "namespace/name" of those that have it, or shares of it; without admin access
  bool is_tainted = false;          // with NoSchedule or NoExecute
  bool is_blocked = false;          // counters that it shares are used up, or its pool is unusable
  bool is_shareable = false;        // allows several allocations

  bool is_allocated() const noexcept { return !claims.empty(); }
  bool is_free() const noexcept { return claims.empty() && !is_tainted && !is_blocked; }
};

/// Devices of one pool that the same nodes have.
struct DevicePoolLine {
  std::string node;   // empty: they are not one node's
  std::string nodes;  // which ones, in words, where it is not one
  bool is_node_known = true;
  std::string driver, pool;
  std::vector<DeviceLine> devices;  // in the order of slices
  std::string problem;              // why no claim gets a device of the pool; empty: claims do

  struct Counts {
    std::size_t devices = 0, free = 0, allocated = 0;
    std::size_t tainted = 0, tainted_and_allocated = 0;  // the second are among the first and among `allocated`
    std::size_t blocked = 0;                             // neither allocated nor tainted
    std::size_t shared = 0, shares = 0;                  // devices that several allocations share, and these
    Counts& operator+=(const Counts& other) noexcept;
  };
  Counts counts() const noexcept;
};

struct ClaimDevice {
  std::string request, driver, pool, device;
  bool is_admin_access = false;
  std::string text() const { return driver + '/' + pool + '/' + device; }
};

struct ClaimLine {
  enum class State : std::uint8_t {
    pending,  // not allocated
    idle,     // allocated, for no pod
    in_use,   // allocated and reserved
  };
  std::string ns, name;
  State state = State::pending;
  std::vector<ClaimDevice> devices;
  std::vector<std::string> reserved_for;  // names, of pods as a rule
  std::string extended_for;  // uid of the pod whose extended resources it stands for; empty: an ordinary claim
};
std::string_view claim_state_name(ClaimLine::State state) noexcept;

/// Devices and claims as API objects say. Of a pool its newest generation counts. Objects that are no JSON, and parts of a wrong
/// type, are left out. Taints by DeviceTaintRules are not looked at.
struct DeviceReport {
  std::vector<DevicePoolLine> pools;  // of single nodes first, by node; then the others
  std::vector<ClaimLine> claims;      // in the order of the cluster
};
DeviceReport make_device_report(std::span<const model::ObjectPtr> slices, std::span<const model::ObjectPtr> claims,
                                const std::function<bool(std::string_view)>& has_node);

}  // namespace berth::report
