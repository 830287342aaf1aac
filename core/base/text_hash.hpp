// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace berth {

/// The hash of texts for Boost's maps, whose own takes one byte at a time: that of the standard library takes eight.
/// A map that is given std::equal_to<> besides finds a std::string by a std::string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

}  // namespace berth
