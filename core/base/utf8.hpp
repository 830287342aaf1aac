// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

/// The length of the UTF-8 sequence at the front of the text, 1 to 4; 0 when there is none: nothing longer than need be,
/// no surrogate, nothing past U+10FFFF.
std::size_t utf8_length(std::string_view text) noexcept;

/// Where the first byte stands that begins no UTF-8 sequence; npos: nowhere.
std::size_t find_invalid_utf8(std::string_view text) noexcept;

/// The text with U+FFFD for every such byte, as Go's decoders and encoders have it.
std::string valid_utf8(std::string_view text);

}  // namespace berth
