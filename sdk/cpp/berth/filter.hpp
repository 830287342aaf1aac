// SPDX-License-Identifier: Apache-2.0
/// The three forms in which a policy may judge nodes.
///
///   Mask filter(const Cycle&, Rows) const                      64 rows at a time; refused rows get `rejection`
///   void filter(const Cycle&, FilterBlock&) const              the whole block; several reasons possible
///   std::optional<Rejection> filter_each(const Cycle&, Row) const   one row; nullopt passes
///
/// A policy may bound what its filter costs an attempt: std::uint64_t filter_budget_ns() const; see Cycle::deadline_ns().
///
/// [worker] Called concurrently for different blocks: const, no allocation per row, no blocking.
/// Errors:   what the policy throws fails every candidate of the block, and the attempt, with its text; fail_row() one row.
/// Lifetime: the block and its answers live for the call. Source: ext/filter.h, berth.filter/1.
#pragma once
#include <berth/columns.hpp>
#include <berth/cycle.hpp>

#include <optional>

namespace berth {
inline namespace sdk {

/// A block with its answers. Every candidate passes until it is rejected.
class FilterBlock : public Block {
 public:
  FilterBlock(const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out) noexcept
      : Block(block),
        out_(out),
        wants_reasons_((cycle->flags & BERTH_CYCLE_WANT_REASONS) != 0 && out->reasons != nullptr),
        wants_details_((cycle->flags & BERTH_CYCLE_WANT_DETAILS) != 0 && out->add_detail != nullptr) {}

  /// False in a look that needs verdicts alone: Rejection::reason is not read then.
  bool wants_reasons() const noexcept { return wants_reasons_; }
  /// A person asks why: add_detail() is worth its work.
  bool wants_details() const noexcept { return wants_details_; }
  /// Rows of a word that are still in: candidates without those rejected in this call.
  Mask open(std::uint32_t word) const noexcept { return Mask(out_->pass[word] & candidates(word)); }
  /// Rows that are no candidates, or were rejected before, are left alone.
  void reject(std::uint32_t word, Mask rows, Rejection why) noexcept {
    const std::uint64_t bits = rows.bits() & out_->pass[word] & candidates(word);
    if (bits == 0) return;
    out_->pass[word] &= ~bits;
    if (why.unresolvable) out_->unresolvable[word] |= bits;
    if (wants_reasons_) each_bit(bits, [&](std::uint32_t bit) { out_->reasons[word * 64 + bit] = why.reason; });
  }
  /// Requires: row < rows().
  void reject_row(std::uint32_t row, Rejection why) noexcept {
    reject(row >> 6, Mask(std::uint64_t{1} << (row & 63)), why);
  }
  /// The row cannot be judged: an error of that node alone, cut after 1,024 bytes; of a row's errors the first
  /// counts.
  void fail_row(std::uint32_t row, std::string_view text) noexcept {
    out_->fail_row(out_->ctx, row, borrow(text));
    const std::uint64_t bit = std::uint64_t{1} << (row & 63);
    out_->pass[row >> 6] &= ~bit;
    out_->unresolvable[row >> 6] &= ~bit;
  }
  /// Beyond the reason of a rejected row, for people who ask: `text` is true of `count` things of the node. The host
  /// keeps the first 64 of a row, copies the text, and adds equal texts up over nodes. Does nothing unless
  /// wants_details().
  void add_detail(std::uint32_t row, std::string_view text, std::uint64_t count) noexcept {
    if (wants_details_) out_->add_detail(out_->ctx, row, borrow(text), count);
  }
  /// The rejected rows count as Pending.
  void rejections_are_pending(std::uint32_t word, Mask rows) noexcept {
    out_->pending[word] |= rows.bits() & candidates(word) & ~out_->pass[word];
  }

 private:
  berth_filter_out_v1* out_;
  bool wants_reasons_;
  bool wants_details_;
};

}  // namespace sdk
}  // namespace berth
