// SPDX-License-Identifier: Apache-2.0
#include "device_ids.hpp"

namespace berth::dra {

std::uint32_t DeviceIds::intern(std::string_view driver, std::string_view pool, std::string_view device) {
  // Lengths instead of separators: no two devices share a key, whatever characters their names have.
  std::string key = std::to_string(driver.size()) + ',' + std::to_string(pool.size()) + ',';
  key.append(driver).append(pool).append(device);
  const std::lock_guard lock(mutex_);
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  const auto next = static_cast<std::uint32_t>(ids_.size());
  if (next >= devices_max_) return k_none;
  ids_.emplace(std::move(key), next);
  return next;
}

std::uint32_t DeviceIds::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(ids_.size());
}

}  // namespace berth::dra
