// SPDX-License-Identifier: Apache-2.0
/// Numbers for device names, so that "is it in use?" is one bit instead of three strings.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

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
  std::uint32_t devices_max() const { return devices_max_; }

 private:
  const std::uint32_t devices_max_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace berth::dra
