// SPDX-License-Identifier: Apache-2.0
#include "cycle/ranking.hpp"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <numeric>
#include <random>
#include <vector>

#include "base/bitmap.hpp"
#include "cycle/node_choice.hpp"
#include "support/seeds.hpp"

namespace berth::cycle {
namespace {

constexpr std::int32_t k_not_feasible = -1;

/// Totals by position from the rotation start, and everything that a Ranking keeps computed from them each time.
struct Fresh {
  std::vector<std::int32_t> totals;
  std::vector<cache::Slot> order;
  std::size_t start = 0;

  cache::Slot slot_at(std::size_t position) const { return order[(start + position) % order.size()]; }
  std::vector<cache::Slot> slots() const {
    std::vector<cache::Slot> out;
    for (std::size_t p = 0; p < totals.size(); ++p)
      if (totals[p] != k_not_feasible) out.push_back(slot_at(p));
    return out;
  }
  std::size_t best() const {
    std::vector<std::int64_t> feasible;
    for (const std::int32_t total : totals)
      if (total != k_not_feasible) feasible.push_back(total);
    return NodeChoice().best(feasible);
  }
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> out(bitmap::words_for(order.size()), 0);
    for (const cache::Slot slot : slots()) bitmap::set(out.data(), slot);
    return out;
  }
};

class Changes {
 public:
  Changes(std::uint32_t seed, std::size_t nodes) : random_(seed) {
    fresh_.totals.assign(nodes, k_not_feasible);
    fresh_.order.resize(nodes);
    std::iota(fresh_.order.begin(), fresh_.order.end(), 0U);
    std::shuffle(fresh_.order.begin(), fresh_.order.end(), random_);
    rebuild();
  }

  void change() {
    const std::size_t position = draw(fresh_.totals.size());
    std::int32_t& total = fresh_.totals[position];
    switch (draw(12)) {
      case 0:  // the phases in which nodes leave for the most part, and in which they come
        leaves_ = draw(2) == 0;
        distinct_ = draw(2) == 0 ? 3 : 1000;
        break;
      case 1:
        rebuild();
        break;
      case 2:  // all totals at once
        for (std::size_t p = 0; p < fresh_.totals.size(); ++p)
          if (fresh_.totals[p] != k_not_feasible) ranking_.write_total(p, fresh_.totals[p] = total_below(distinct_));
        ranking_.raise_all();
        break;
      case 3:
      case 4:
      case 5:
        if (total == k_not_feasible && !leaves_) {
          ranking_.insert(position, fresh_.slot_at(position));
          ranking_.put(position, total = total_below(distinct_));
        } else if (total != k_not_feasible && leaves_) {
          ranking_.remove(position);
          total = k_not_feasible;
        }
        break;
      case 6:
      case 7:  // the one that wins leaves, as when a pod fills its node
        if (ranking_.size() != 0 && leaves_) {
          const std::size_t best = position_of_best();
          ranking_.remove(best);
          fresh_.totals[best] = k_not_feasible;
        }
        break;
      case 8:
      case 9:  // or gets a worse total, as after a plain placement
        if (ranking_.size() != 0) {
          const std::size_t best = position_of_best();
          fresh_.totals[best] = std::max(0, fresh_.totals[best] - 1);
          ranking_.put(best, fresh_.totals[best]);
        }
        break;
      default:
        if (total != k_not_feasible) ranking_.put(position, total = total_below(distinct_));
    }
  }
  void expect_kept_is_fresh() {
    const std::vector<cache::Slot> slots = fresh_.slots();
    ASSERT_EQ(std::vector<cache::Slot>(ranking_.slots().begin(), ranking_.slots().end()), slots);
    ASSERT_EQ(ranking_.size(), slots.size());
    if (slots.empty()) return;
    ASSERT_EQ(ranking_.best(), fresh_.best());
  }

 private:
  std::size_t draw(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  std::int32_t total_below(std::size_t below) { return static_cast<std::int32_t>(draw(below)); }
  std::size_t position_of_best() {
    const cache::Slot slot = ranking_.slots()[ranking_.best()];
    for (std::size_t p = 0;; ++p)
      if (fresh_.slot_at(p) == slot) return p;
  }
  /// The rotation starts elsewhere, over the same nodes.
  void rebuild() {
    const std::vector<std::uint64_t> bits = fresh_.bits();
    const std::size_t nodes = fresh_.order.size(), to = draw(nodes);
    std::vector<std::int32_t> turned(nodes);
    for (std::size_t p = 0; p < nodes; ++p) turned[(p + fresh_.start + nodes - to) % nodes] = fresh_.totals[p];
    fresh_.totals = turned;
    fresh_.start = to;
    ranking_.rebuild(fresh_.order, to, bits.data());
    for (std::size_t p = 0; p < nodes; ++p)
      if (turned[p] != k_not_feasible) ranking_.put(p, turned[p]);
  }

  std::mt19937 random_;
  Fresh fresh_;
  Ranking ranking_;
  bool leaves_ = false;
  std::size_t distinct_ = 3;
};

TEST(Ranking, IsAsComputedFreshAfterEachOfManyChanges) {
  constexpr std::size_t k_sizes[] = {1, 2, 7, 63, 64, 65, 300, 4097};
  for (const std::uint32_t seed : tests::seeds())
    for (const std::size_t nodes : k_sizes) {
      SCOPED_TRACE(fmt::format("BERTH_SEED={}, {} nodes", seed, nodes));
      Changes changes(seed, nodes);
      for (int i = 0; i < (nodes > 1000 ? 100 : 500); ++i) {
        changes.change();
        ASSERT_NO_FATAL_FAILURE(changes.expect_kept_is_fresh()) << "after change " << i;
      }
    }
}

/// Every node alike, the winner leaves: each time the first of the list.
TEST(Ranking, GivesTheListInOrderWhenTheWinnerLeaves) {
  std::vector<cache::Slot> order(5000);
  std::iota(order.begin(), order.end(), 0U);
  const std::vector<std::uint64_t> all(bitmap::words_for(order.size()), ~std::uint64_t{0});
  Ranking ranking;
  ranking.rebuild(order, 0, all.data());
  for (cache::Slot slot = 0; slot < order.size(); ++slot) {
    ASSERT_EQ(ranking.slots()[ranking.best()], slot);
    ranking.remove(slot);
  }
  EXPECT_EQ(ranking.size(), 0U);
}

/// What leaves at one end and comes at the other takes no more room than the nodes that there are.
TEST(Ranking, DoesNotGrowWhileNodesComeAndGo) {
  std::vector<cache::Slot> order(256);
  std::iota(order.begin(), order.end(), 0U);
  const std::vector<std::uint64_t> all(bitmap::words_for(order.size()), ~std::uint64_t{0});
  Ranking ranking;
  ranking.rebuild(order, 0, all.data());
  const std::size_t before = ranking.bytes();
  for (int round = 0; round < 50; ++round) {
    for (std::size_t p = 0; p < order.size(); ++p) {
      ranking.remove(p);
      if (p >= 128) ranking.insert(p - 128, order[p - 128]);
    }
    for (std::size_t p = 128; p < order.size(); ++p) ranking.insert(p, order[p]);
  }
  EXPECT_LE(ranking.bytes(), before + 256 * sizeof(cache::Slot));
}

}  // namespace
}  // namespace berth::cycle
