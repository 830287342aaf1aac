// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpushare {

/// How much memory is free on every card of every node. Plain bookkeeping, by slot; one thread.
class CardTable {
 public:
  static constexpr std::uint32_t k_cards_max = 16;
  static constexpr std::int64_t k_none = -1;

  void resize(std::size_t slot_count) {
    most_free_.resize(slot_count, k_none);
    nodes_.resize(slot_count);
  }

  /// The node has so many cards, which have equal parts of the memory; all of it is free. Cards beyond k_cards_max are
  /// not used.
  void start(std::size_t slot, std::int64_t memory, std::int64_t cards) {
    Node& node = nodes_[slot];
    node.card_count = static_cast<std::uint32_t>(std::clamp<std::int64_t>(cards, 0, k_cards_max));
    node.card_size = cards <= 0 ? 0 : memory / cards;
    node.free.fill(k_none);
    std::fill_n(node.free.begin(), node.card_count, node.card_size);
    most_free_[slot] = node.card_count == 0 ? k_none : node.card_size;
  }
  /// A negative amount gives back.
  void use(std::size_t slot, std::uint32_t card, std::int64_t amount) {
    Node& node = nodes_[slot];
    if (card >= node.card_count) return;
    node.free[card] -= amount;
    most_free_[slot] = *std::max_element(node.free.begin(), node.free.begin() + node.card_count);
  }
  void use_every_card(std::size_t slot, std::int64_t amount) {
    for (std::uint32_t card = 0; card < nodes_[slot].card_count; ++card) use(slot, card, amount);
  }

  std::uint32_t card_count(std::size_t slot) const { return nodes_[slot].card_count; }
  std::int64_t card_size(std::size_t slot) const { return nodes_[slot].card_size; }
  std::int64_t free(std::size_t slot, std::uint32_t card) const { return nodes_[slot].free[card]; }
  /// By slot: of the emptiest card; below 0 without a card.
  const std::vector<std::int64_t>& most_free() const { return most_free_; }

  /// The card on which the least is left over; of equals the first.
  std::optional<std::uint32_t> best_fit(std::size_t slot, std::int64_t wanted) const {
    const Node& node = nodes_[slot];
    std::optional<std::uint32_t> best;
    for (std::uint32_t card = 0; card < node.card_count; ++card)
      if (node.free[card] >= wanted && (!best || node.free[card] < node.free[*best])) best = card;
    return best;
  }
  /// What best_fit() would leave over; 0 where nothing fits.
  std::int64_t left_over(std::size_t slot, std::int64_t wanted) const {
    const Node& node = nodes_[slot];
    // Where it does not fit the difference wraps around and is larger than any that does.
    std::uint64_t least = k_nothing_fits;
    for (std::uint32_t card = 0; card < node.card_count; ++card)
      least = std::min(least, static_cast<std::uint64_t>(node.free[card]) - static_cast<std::uint64_t>(wanted));
    return least >= k_nothing_fits ? 0 : static_cast<std::int64_t>(least);
  }

 private:
  static constexpr std::uint64_t k_nothing_fits = std::uint64_t{1} << 63;
  struct Node {
    std::int64_t card_size = 0;
    std::uint32_t card_count = 0;
    std::array<std::int64_t, k_cards_max> free{};
  };
  std::vector<Node> nodes_;
  std::vector<std::int64_t> most_free_;
};

}  // namespace gpushare
