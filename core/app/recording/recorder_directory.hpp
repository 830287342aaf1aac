// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace berth::app {

/// Where a running scheduler records, made if it is missing; empty: nothing is recorded, which is logged where it was
/// not asked for, and where others may write there, or own it. `flag`: --recorder-dir. Before the process is confined: what does not exist then cannot be made
/// later.
std::string recorder_directory(const std::optional<std::string>& flag);

}  // namespace berth::app
