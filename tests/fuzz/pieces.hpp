// SPDX-License-Identifier: Apache-2.0
/// An answer that arrives in pieces, as the first bytes of an input cut it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

/// Size of the pieces that the byte asks for; 0: all of `bytes` is one.
inline std::size_t piece_of(std::uint8_t byte, std::string_view bytes) {
  return byte == 0 ? std::max<std::size_t>(bytes.size(), 1) : byte;
}

/// False once the body refuses a piece; it is given no more then.
template <typename Body>
bool add_in_pieces(Body& body, std::string_view bytes, std::size_t piece) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (!body.add(bytes.substr(0, piece)).ok()) return false;
  return true;
}

}  // namespace berth
