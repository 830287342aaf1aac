// SPDX-License-Identifier: Apache-2.0
/// Mask: one answer for each of 64 rows, in one word.
///
/// A comparison of a column with a value gives a Mask, and && || ! on masks are bit operations, so a rule over nodes
/// reads as a rule over one node and still compiles to straight-line vector code. Both operands are always evaluated.
///
/// Shapes:  bit i is row i of the word, so row 64 * word + i of the block, as in the bitmaps of the ABI.
/// Threads: any: a value of 8 bytes, nothing allocates or throws.
#pragma once
#include <berth/types.hpp>

#include <bit>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace berth {
inline namespace sdk {

/// Rows that are no candidates, and pad rows, may have either bit: what takes a Mask (FilterBlock, ScoreBlock) leaves
/// them alone.
class Mask {
 public:
  /// No row.
  constexpr Mask() noexcept = default;
  /// From a word of a bitmap by row, such as Block::candidates(word).
  constexpr explicit Mask(std::uint64_t bits) noexcept : bits_(bits) {}
  /// All 64 rows, pad rows included.
  static constexpr Mask all() noexcept { return Mask(~std::uint64_t{0}); }
  static constexpr Mask none() noexcept { return Mask(0); }
  /// All rows or none, for what does not depend on the node.
  static constexpr Mask all_if(bool condition) noexcept { return Mask(condition ? ~std::uint64_t{0} : 0); }

  /// For loops of one's own: each_bit(mask.bits(), …).
  constexpr std::uint64_t bits() const noexcept { return bits_; }
  /// Whether any of the 64 rows is in it: a loop over words leaves empty ones out by this.
  constexpr bool any() const noexcept { return bits_ != 0; }
  /// Requires: row < 64.
  constexpr bool operator[](unsigned row) const noexcept { return (bits_ >> row & 1u) != 0; }
  /// 0..64.
  constexpr int count() const noexcept { return std::popcount(bits_); }

  // Rows that meet both, or either. Neither side is left out when the other decides: unlike && of bool, both are
  // computed.
  friend constexpr Mask operator&&(Mask a, Mask b) noexcept { return Mask(a.bits_ & b.bits_); }
  friend constexpr Mask operator||(Mask a, Mask b) noexcept { return Mask(a.bits_ | b.bits_); }
  // A bool counts for all rows, so what is said of the pod mixes with what is said of nodes.
  friend constexpr Mask operator&&(bool a, Mask b) noexcept { return all_if(a) && b; }
  friend constexpr Mask operator||(bool a, Mask b) noexcept { return all_if(a) || b; }
  friend constexpr Mask operator&&(Mask a, bool b) noexcept { return a && all_if(b); }
  friend constexpr Mask operator||(Mask a, bool b) noexcept { return a || all_if(b); }
  /// The other rows of the 64, pad rows among them.
  friend constexpr Mask operator!(Mask a) noexcept { return Mask(~a.bits_); }
  /// Of all 64 rows at once, a bool; Lane's == gives a Mask.
  friend constexpr bool operator==(Mask a, Mask b) noexcept { return a.bits_ == b.bits_; }
  // Without a new name, for masks that are narrowed or widened step by step.
  constexpr Mask& operator&=(Mask b) noexcept { return bits_ &= b.bits_, *this; }
  constexpr Mask& operator|=(Mask b) noexcept { return bits_ |= b.bits_, *this; }

 private:
  std::uint64_t bits_ = 0;
};

/// Calls visit(row) for each set bit, lowest first. What visit throws goes through.
template <class Visit>
constexpr void each_bit(std::uint64_t bits, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<std::uint32_t>(std::countr_zero(bits)));
}

namespace detail {

/// 64 bytes that hold 0 or 1 -> 64 bits, byte i to bit i. Compilers do this step badly when left alone. Requires:
/// 64-byte aligned.
inline std::uint64_t pack(const std::uint8_t (&bytes)[64]) noexcept {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i part = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i));
    const auto word = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi8(part, _mm_setzero_si128())));
    bits |= static_cast<std::uint64_t>(word) << (16 * i);
  }
#else
  if constexpr (std::endian::native == std::endian::little) {
    for (unsigned i = 0; i < 8; ++i) {
      std::uint64_t part;
      std::memcpy(&part, bytes + 8 * i, 8);
      bits |= (part * 0x0102040810204080u >> 56) << (8 * i);
    }
  } else {
    for (unsigned i = 0; i < 64; ++i) bits |= static_cast<std::uint64_t>(bytes[i]) << i;
  }
#endif
  return bits;
}

/// Evaluates test(i) for 64 rows without branches. test must not throw and must be defined for rows that are no
/// candidates.
template <class Test>
inline Mask mask_of(Test&& test) noexcept {
  alignas(64) std::uint8_t bytes[64];
  for (unsigned i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(test(i));
  return Mask(pack(bytes));
}

}  // namespace detail
}  // namespace sdk
}  // namespace berth
