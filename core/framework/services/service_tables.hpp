// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>
#include "base/result.hpp"
#include "berth/plugin.h"

namespace berth::framework {

/// A service that plugins may ask for. The `ctx` of its functions is the PluginInstance that asks.
struct HostService {
  std::string_view id;  // "berth.dry_run/1"
  const void* table = nullptr;
  void* state = nullptr;  // what the service works on, when it is not the framework's own
};

/// Tables of "berth.executor/1", "berth.pods/1", "berth.pod_index/1", "berth.writes/1", "berth.object_writes/1", "berth.shared/1" and
/// "berth.debug_pages/1".
const void* executor_service() noexcept;
const void* placed_pods_service() noexcept;
const void* pod_index_service() noexcept;
const void* writes_service() noexcept;
const void* object_writes_service() noexcept;
const void* shared_service() noexcept;
const void* debug_pages_service() noexcept;

/// An extension point.
inline constexpr const char* k_domains_id = "berth.domains/1";
/// The service and the extension point.
inline constexpr const char* k_groups_id = "berth.groups/1";
const void* groups_service() noexcept;

/// Ids of the framework's own services.
const std::vector<std::string_view>& own_service_ids();
/// Table of one of them; null: it has none of that id.
const void* own_service(std::string_view id) noexcept;

/// struct_size that structs of plugins had in the version that brought them, the least that a plugin may say. What a later
/// minor appends is read where BERTH_HAS proves it.
template <typename T>
inline constexpr std::uint32_t k_first_bytes = 0;
template <>
inline constexpr std::uint32_t k_first_bytes<berth_domain_column_v1> = 72;
template <>
inline constexpr std::uint32_t k_first_bytes<berth_event_spec_v1> = 120;
template <>
inline constexpr std::uint32_t k_first_bytes<berth_metric_spec_v1> = 72;
template <>
inline constexpr std::uint32_t k_first_bytes<berth_object_ref_v1> = 72;
template <>
inline constexpr std::uint32_t k_first_bytes<berth_preemption_policy_v1> = 32;
template <>
inline constexpr std::uint32_t k_first_bytes<berth_preemption_request_v1> = 112;

/// Whether a struct that a plugin hands over has what its first version had.
template <typename T>
bool has_first_fields(const T* given) noexcept {
  static_assert(k_first_bytes<T> != 0 && k_first_bytes<T> <= sizeof(T));
  return given != nullptr && given->struct_size >= k_first_bytes<T>;
}

/// What a plugin is told of a write that failed.
inline berth_code write_code(const Error& error) noexcept {
  switch (error.code) {
    case ErrorCode::conflict:
      return BERTH_CONFLICT;
    case ErrorCode::not_found:
      return BERTH_NOT_FOUND;
    default:
      return BERTH_ERROR;
  }
}

}  // namespace berth::framework
