// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "cache/snapshot.hpp"

namespace berth::framework {

/// The nodes that take part in the search for one pod: all of the snapshot, or those that pre-filter left.
///
/// While it is all of them the snapshot's own bitmap is shown, and nothing is copied; few nodes are a list. So an attempt
/// costs what it narrows, not what the cluster has.
/// Lifetime: as long as the snapshot stays as it was at begin(). Memory is kept for the next pod.
/// Threads:  the scheduling thread writes, others may read.
class CandidateNodes {
 public:
  static constexpr std::size_t k_few_max = 64;  // nodes that are judged together, and whose verdicts fit into a word

  /// All nodes of the snapshot.
  void begin(const cache::Snapshot& snapshot);
  /// Leaves those that are in `kept` (by slot, as long as the snapshot's) as well; says how many.
  std::size_t keep(const std::uint64_t* kept);
  void leave_out(cache::Slot slot);

  std::size_t count() const noexcept { return count_; }
  bool all() const noexcept { return form_ == Form::all; }
  bool contains(cache::Slot slot) const noexcept;
  /// By slot. Good until the next change.
  const std::uint64_t* bits() const noexcept { return form_ == Form::all ? all_ : own_.data(); }
  std::size_t word_count() const noexcept { return words_; }
  /// Their slots, ascending, where some were left out and at most k_few_max are left; else nothing.
  std::span<const cache::Slot> few() const noexcept { return few_; }

 private:
  enum class Form : std::uint8_t { all, few, bitmap };

  void clear_own();

  const std::uint64_t* all_ = nullptr;  // the snapshot's
  std::size_t words_ = 0;
  std::size_t count_ = 0;
  Form form_ = Form::all;
  std::vector<cache::Slot> few_, left_;  // left_: of keep()
  std::vector<std::uint64_t> own_;       // while form_ is `few`, no bits but theirs; while it is `all`, none at all
};

}  // namespace berth::framework
