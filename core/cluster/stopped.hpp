// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/result.hpp"

namespace berth::cluster {

/// Code of a write that was not made because this process writes nothing any more.
inline constexpr std::string_view k_stopped = "Stopped";

/// True of such a write: nothing is wrong with it, and the next leader makes it, or another.
inline bool is_stopped(const Status& status) { return !status.ok() && status.error().code == k_stopped; }

}  // namespace berth::cluster
