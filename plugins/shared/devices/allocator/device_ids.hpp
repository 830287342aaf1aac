// SPDX-License-Identifier: Apache-2.0
/// Numbers for device names, so that "is it in use?" is one bit instead of three strings.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../../guarded.hpp"
#include "device_content.hpp"

namespace berth::dra {

/// One number per driver, pool and device, for as long as the table lives; numbers start at 0 and have no gaps. A device keeps its
/// number through new generations of its pool. When the table is full, make a new one and prepare everything again with it.
///
/// Threads: any. Memory: some 100 bytes per device.
class DeviceIds {
 public:
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};

  explicit DeviceIds(std::uint32_t devices_max = 4'000'000) : devices_max_(devices_max) {}
  /// `k_none` when the table is full.
  std::uint32_t intern(std::string_view driver, std::string_view pool, std::string_view device);
  std::uint32_t size() const;
  /// Pools have numbers of their own, by driver and name, from 0 without gaps; when there are as many as devices can be, all
  /// others share one.
  std::uint32_t pool(std::string_view driver, std::string_view pool);
  std::uint32_t pool_of(std::uint32_t id) const;
  DeviceContents& contents() { return contents_; }
  /// Larger than any before: when the use of a device changed.
  std::uint64_t next_stamp() { return stamp_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint32_t devices_max() const { return devices_max_; }

 private:
  std::uint32_t pool_locked(std::string_view driver, std::string_view pool) REQUIRES(mutex_);

  const std::uint32_t devices_max_;
  DeviceContents contents_;
  std::atomic<std::uint64_t> stamp_{0};
  mutable guarded::Mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> ids_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::uint32_t> pools_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> pool_of_ GUARDED_BY(mutex_);  // by device
};

}  // namespace berth::dra
