// SPDX-License-Identifier: Apache-2.0
/// The two forms in which a policy may score nodes.
///
///   void score(const Cycle&, ScoreBlock&) const                the whole block
///   std::int64_t score_each(const Cycle&, Row) const           one row
///
/// `static constexpr Normalize normalization` says what the host does with the raw scores (default: none, they are
/// 0..100 already). Normalize::custom needs `void normalize(const Cycle&, std::span<const Slot>,
/// std::span<std::int64_t>)`. [worker] as for filter; normalize is [cycle] and need not be const: it may keep what it found.
///
/// Units:    raw scores are any int64; after normalisation 0 .. Setup::score_max(), else the attempt ends as an error.
/// Lifetime: the block and its scores live for the call. Source: ext/score.h, berth.score/1.
#pragma once
#include <berth/columns.hpp>
#include <berth/cycle.hpp>

#include <algorithm>

namespace berth {
inline namespace sdk {
/// What is made of raw scores, over all nodes that passed: a policy's static constexpr member `normalization`.
enum class Normalize : std::uint32_t {
  none = BERTH_NORM_NONE,                     ///< raw is 0 .. 100 already
  max = BERTH_NORM_MAX,                       ///< 100 * raw / greatest; as it is where that is 0
  max_reversed = BERTH_NORM_MAX_REVERSED,     ///< 100 - 100 * raw / greatest; 100 where that is 0
  minmax = BERTH_NORM_MINMAX,                 ///< least to 0, greatest to 100, in doubles; 0 if equal
  custom = BERTH_NORM_CUSTOM,                 ///< the policy's normalize
  minmax_integer = BERTH_NORM_MINMAX_INTEGER  ///< as minmax, in integers
};

/// A block with its raw scores. Every candidate row must be written; other rows may be.
class ScoreBlock : public Block {
 public:
  ScoreBlock(const berth_node_block_v1* block, std::int64_t* raw) noexcept : Block(block), raw_(raw) {}
  /// Requires: row < rows().
  std::int64_t& operator()(std::uint32_t row) noexcept { return raw_[row]; }
  /// Raw scores of 64 rows, for loops that are to be vectorised; the last word may be padding. Requires: word <
  /// words().
  std::int64_t* scores(std::uint32_t word = 0) noexcept { return raw_ + std::size_t{64} * word; }
  /// Gives the candidates among the rows of a word the same score.
  void set(std::uint32_t word, Mask rows, std::int64_t score) noexcept {
    if ((rows.bits() & candidates(word)) == Mask::all().bits()) {
      std::fill_n(scores(word), 64, score);
      return;
    }
    each_bit(rows.bits() & candidates(word), [&](std::uint32_t bit) { raw_[word * 64 + bit] = score; });
  }

 private:
  std::int64_t* raw_;
};

}  // namespace sdk
}  // namespace berth
