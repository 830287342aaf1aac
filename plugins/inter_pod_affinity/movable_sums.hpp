// SPDX-License-Identifier: Apache-2.0
/// Sums per (topology key, value) with pods that are imagined there or away: a short list of differences from sums that
/// all clones of a state share. A copy costs nothing that grows with the cluster.
/// Threads: as a container's: only one thread at a time moves.
#pragma once
#include "pair_sums.hpp"

namespace berth::inter_pod_affinity {

class MovableSums {
 public:
  /// Requires: the sums outlive it and stay as they are.
  explicit MovableSums(const PairSums& base) : base_(&base) {}

  /// The pair that a node with these labels has, if it has the key.
  template <class Labels>
  void move(Id key, const Labels& labels, std::int64_t delta) {
    if (const Id value = find_label(labels, key); value != 0) move_pair(key, value, delta);
  }
  /// As move(), and tells by how much the number of pairs with a sum changes. Looks through the values of the key.
  template <class Labels>
  std::int64_t move_counting(Id key, const Labels& labels, std::int64_t delta) {
    const Id value = find_label(labels, key);
    if (value == 0) return 0;
    const std::int64_t before = sum(key, value);
    move_pair(key, value, delta);
    return (before == 0 ? 1 : 0) - (before + delta == 0 ? 1 : 0);
  }

  /// Rows whose value of the key has a sum above 0; rows without the key have none. Requires: the shared sums know it.
  Mask above_zero(Id key, const Block& block, std::uint32_t w) const { return above_zero(*base_->find(key), block, w); }
  /// The same for any key. `rows` are of the word, labels_of(bit) is asked only where a pod that is imagined brought a
  /// key that the shared sums do not know.
  template <class LabelsOf>
  Mask any_above_zero(const Block& block, std::uint32_t w, std::uint64_t rows, LabelsOf&& labels_of) const {
    Mask found;
    for (const PairSums::PerKey& each : base_->keys()) found |= above_zero(each, block, w);
    if (!beyond_) return found;
    each_bit(rows, [&](std::uint32_t bit) {
      const auto labels = labels_of(bit);
      for (const Move& each : moves_)
        if (is_above_zero_beyond(each, labels)) found |= Mask(std::uint64_t{1} << bit);
    });
    return found;
  }

  /// As above_zero(), for one node.
  bool is_above_zero(Id key, Slot slot) const { return is_above_zero(*base_->find(key), slot); }
  /// As any_above_zero(), for one node; labels_of() gives its labels.
  template <class LabelsOf>
  bool is_any_above_zero(Slot slot, LabelsOf&& labels_of) const {
    for (const PairSums::PerKey& each : base_->keys())
      if (is_above_zero(each, slot)) return true;
    if (!beyond_) return false;
    const auto labels = labels_of();
    return std::any_of(moves_.begin(), moves_.end(),
                       [&](const Move& each) { return is_above_zero_beyond(each, labels); });
  }

 private:
  struct Move {
    Id key;
    Id value;
    std::int64_t delta;
  };

  void move_pair(Id key, Id value, std::int64_t delta) {
    beyond_ = beyond_ || base_->find(key) == nullptr;
    moves_.push_back({key, value, delta});
  }
  Mask above_zero(const PairSums::PerKey& each, const Block& block, std::uint32_t w) const {
    std::uint32_t gathered[64];
    const std::uint32_t* domain = each.domains->rows(block, w, gathered);
    const std::int64_t* sums = each.sums.values().data();
    if (moves_.empty()) return berth::detail::mask_of([&](unsigned i) { return sums[domain[i]] > 0; });
    return berth::detail::mask_of([&](unsigned i) {
      return domain[i] != 0 && sums[domain[i]] + moved(each.key, each.domains->values[domain[i]]) > 0;
    });
  }
  bool is_above_zero(const PairSums::PerKey& each, Slot slot) const {
    const std::uint32_t domain = each.domains->at(slot);
    return domain != 0 && each.sums.values()[domain] + moved(each.key, each.domains->values[domain]) > 0;
  }
  /// Of a key that the shared sums do not know.
  template <class Labels>
  bool is_above_zero_beyond(const Move& move, const Labels& labels) const {
    return base_->find(move.key) == nullptr && find_label(labels, move.key) == move.value &&
           moved(move.key, move.value) > 0;
  }
  std::int64_t sum(Id key, Id value) const noexcept {
    std::int64_t base = 0;
    if (const PairSums::PerKey* each = base_->find(key)) {
      const auto& values = each->domains->values;
      const auto at = std::find(values.begin(), values.end(), value);
      if (at != values.end()) base = each->sums[static_cast<std::size_t>(at - values.begin())];
    }
    return base + moved(key, value);
  }
  std::int64_t moved(Id key, Id value) const noexcept {
    std::int64_t sum = 0;
    for (const Move& each : moves_)
      if (each.key == key && each.value == value) sum += each.delta;
    return sum;
  }

  const PairSums* base_;
  std::vector<Move> moves_;
  bool beyond_ = false;  // a move is about a key that base_ does not know
};

}  // namespace berth::inter_pod_affinity
