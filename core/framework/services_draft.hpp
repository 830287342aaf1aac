// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace berth::framework {

/// Tables of "berth.draft.pod_index/0", "berth.draft.dry_run/0", "berth.draft.writes/0".
const void* pod_index_service() noexcept;
const void* dry_run_service() noexcept;
const void* writes_service() noexcept;

inline constexpr std::string_view k_object_writes_service = "berth.draft.object_writes/0";
const void* object_writes_service() noexcept;
inline constexpr std::string_view k_shared_service = "berth.draft.shared/0";
const void* shared_service() noexcept;

inline constexpr std::string_view k_preemption_service = "berth.draft.preemption/0";
const void* preemption_service() noexcept;

/// The service and the extension point.
inline constexpr const char* k_groups_id = "berth.draft.groups/0";
const void* groups_service() noexcept;

}  // namespace berth::framework
