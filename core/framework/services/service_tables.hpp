// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>
#include "base/result.hpp"
#include "berth/abi/status.h"

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
inline constexpr const char* k_domains_id = "berth.draft.domains/0";
/// The service and the extension point.
inline constexpr const char* k_groups_id = "berth.groups/1";
const void* groups_service() noexcept;

/// Ids that services had as drafts, under which plugins that were built then ask for them. Their tables are the permanent ones,
/// which have only grown since; tests/abi holds them to it.
const std::vector<std::string_view>& former_draft_ids();
/// "berth.nodes/1" for "berth.draft.nodes/0"; any other id as it is.
std::string_view permanent_id(std::string_view id) noexcept;

/// Ids of the framework's own services.
const std::vector<std::string_view>& own_service_ids();
/// Table of one of them; null: it has none of that id.
const void* own_service(std::string_view id) noexcept;

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
