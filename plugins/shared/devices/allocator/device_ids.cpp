// SPDX-License-Identifier: Apache-2.0
#include "device_ids.hpp"

namespace berth::dra {
namespace {

/// Lengths instead of separators: no two share a key, whatever characters the names have.
std::string key_of(std::string_view driver, std::string_view pool, std::string_view device) {
  std::string key = std::to_string(driver.size()) + ',' + std::to_string(pool.size()) + ',';
  key.append(driver).append(pool).append(device);
  return key;
}

}  // namespace

std::uint32_t DeviceIds::intern(std::string_view driver, std::string_view pool, std::string_view device) {
  std::string key = key_of(driver, pool, device);
  const guarded::Lock lock(mutex_);
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  const auto next = static_cast<std::uint32_t>(ids_.size());
  if (next >= devices_max_) return k_none;
  pool_of_.push_back(pool_locked(driver, pool));
  ids_.emplace(std::move(key), next);
  return next;
}

std::uint32_t DeviceIds::pool_locked(std::string_view driver, std::string_view pool) {
  std::string key = key_of(driver, pool, {});
  if (const auto found = pools_.find(key); found != pools_.end()) return found->second;
  const auto next = static_cast<std::uint32_t>(pools_.size());
  if (next >= devices_max_) return devices_max_;
  pools_.emplace(std::move(key), next);
  return next;
}

std::uint32_t DeviceIds::pool(std::string_view driver, std::string_view pool) {
  const guarded::Lock lock(mutex_);
  return pool_locked(driver, pool);
}

std::uint32_t DeviceIds::pool_of(std::uint32_t id) const {
  const guarded::Lock lock(mutex_);
  return pool_of_[id];
}

std::uint32_t DeviceIds::size() const {
  const guarded::Lock lock(mutex_);
  return static_cast<std::uint32_t>(ids_.size());
}

}  // namespace berth::dra
