// SPDX-License-Identifier: Apache-2.0
/// Devices, claims and allocations in flight, for people.
#pragma once
#include <set>

#include "device_cluster.hpp"

namespace devices {

/// What the page shows.
struct DebugMoment {
  struct Flight {
    std::string uid;  ///< of the claim
    std::shared_ptr<const AllocationObject> allocation;
    std::uint32_t sharers;
  };
  DeviceSnapshot devices;
  std::vector<ClaimPtr> claims;  ///< that can be read
  std::vector<Flight> in_flight;
  std::set<std::uint32_t> in_flight_devices;
  std::size_t withheld = 0;
};

/// As JSON: drivers {devices, free, allocated, inFlight, tainted}, inFlight[] {claim, uid, pods, devices[]}, claims[], slices[].
/// What is in flight is among the allocated. Older generations of a pool are shown as well.
std::string debug_page(const DebugMoment& moment);

}  // namespace devices
