// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace berth::cycle {

/// What glibc's malloc takes for a block of so many bytes: 8 for its size, in steps of 16, 32 at least; nothing for none.
/// Tables with a budget count with it, because thousands of small blocks take a third more than what they hold.
constexpr std::size_t allocated_bytes(std::size_t bytes) noexcept {
  return bytes == 0 ? 0 : std::max<std::size_t>(32, (bytes + 8 + 15) / 16 * 16);
}

/// Of a vector's own block; of what its elements own, nothing.
template <typename T, typename Allocator>
constexpr std::size_t allocated_bytes(const std::vector<T, Allocator>& vector) noexcept {
  static_assert(!std::is_same_v<T, bool>);
  return allocated_bytes(vector.capacity() * sizeof(T));
}

}  // namespace berth::cycle
