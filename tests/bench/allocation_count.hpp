// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace berth::bench {

/// Calls of operator new so far, by host and plugins alike: this program replaces the operator for all of them.
std::uint64_t allocation_count() noexcept;
/// The bytes that they asked for.
std::uint64_t allocated_bytes() noexcept;

}  // namespace berth::bench
