// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace berth::cel {

/// Length of the pattern that upstream charges for a named format.
std::uint64_t named_format_pattern_size(std::int64_t format);

}  // namespace berth::cel
