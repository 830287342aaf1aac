// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/result.hpp"

namespace berth::cluster {

/// True of a write that was not made because this process writes nothing any more: nothing is wrong with it, and the next leader makes it, or another.
inline bool is_stopped(const Status& status) { return !status.ok() && status.error().code == ErrorCode::stopped; }

}  // namespace berth::cluster
