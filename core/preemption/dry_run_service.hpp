// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace berth::preemption {

/// "Would the pod fit on that node without these pods?", for policies.
inline constexpr std::string_view k_dry_run_service = "berth.dry_run/1";
const void* dry_run_service() noexcept;

}  // namespace berth::preemption
