// SPDX-License-Identifier: Apache-2.0
#include "cycle/groups/group_ranking.hpp"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cycle/node_choice.hpp"
#include "support/seeds.hpp"

namespace berth::cycle {
namespace {

constexpr std::size_t k_groups = 7;

/// Groups and totals by position, and what a GroupRanking keeps computed from them each time.
class GroupChanges {
 public:
  GroupChanges(std::uint32_t seed, std::size_t nodes)
      : random_(seed), groups_(nodes, GroupRanking::k_no_group), totals_(nodes, 0) {
    ranking_.reset(nodes);
    for (GroupRanking::Group g = 0; g < k_groups; ++g) ranking_.open(g);
  }

  void change() {
    const std::size_t position = draw(groups_.size());
    switch (draw(8)) {
      case 0:
        distinct_ = draw(2) == 0 ? 3 : 1000;
        leaves_ = draw(3) == 0;
        break;
      case 1:
        ranking_.remove(position);
        groups_[position] = GroupRanking::k_no_group;
        break;
      default:
        if (leaves_ && groups_[position] != GroupRanking::k_no_group) {
          ranking_.remove(position);
          groups_[position] = GroupRanking::k_no_group;
          break;
        }
        groups_[position] = static_cast<GroupRanking::Group>(draw(k_groups));
        totals_[position] = static_cast<std::int32_t>(draw(distinct_));
        ranking_.put(position, groups_[position], totals_[position]);
    }
  }
  void expect_kept_is_fresh() {
    std::vector<GroupRanking::Part> parts;
    for (GroupRanking::Group g = 0; g < k_groups; ++g) {
      const auto size = static_cast<std::uint32_t>(std::count(groups_.begin(), groups_.end(), g));
      ASSERT_EQ(ranking_.size(g), size);
      if (size != 0 && draw(3) != 0) parts.push_back({g, static_cast<std::int32_t>(draw(distinct_))});
    }
    if (parts.empty()) return;
    std::shuffle(parts.begin(), parts.end(), random_);
    std::vector<std::int64_t> totals;
    std::vector<std::size_t> positions;
    for (std::size_t p = 0; p < groups_.size(); ++p)
      for (const GroupRanking::Part& part : parts)
        if (part.group == groups_[p]) {
          totals.push_back(totals_[p] + part.bonus);
          positions.push_back(p);
        }
    const std::size_t wanted = NodeChoice().best(totals);
    const GroupRanking::Best best = ranking_.best(parts);
    ASSERT_EQ(best.position, positions[wanted]);
    ASSERT_EQ(best.total, totals[wanted]);
    ASSERT_EQ(ranking_.first(parts), positions.front());
  }

 private:
  std::size_t draw(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

  std::mt19937 random_;
  std::vector<GroupRanking::Group> groups_;
  std::vector<std::int32_t> totals_;
  GroupRanking ranking_;
  std::size_t distinct_ = 3;
  bool leaves_ = false;
};

// Each comparison looks at all nodes: where checks make that slow, there are fewer on many nodes.
#if defined(BERTH_SANITIZED)
constexpr int k_changes_of_many_nodes = 10;
#else
constexpr int k_changes_of_many_nodes = 100;
#endif

TEST(GroupRanking, IsAsComputedFreshAfterEachOfManyChanges) {
  constexpr std::size_t k_sizes[] = {1, 2, 7, 63, 64, 65, 300, 4097, 9000};
  for (const std::uint32_t seed : tests::seeds())
    for (const std::size_t nodes : k_sizes) {
      SCOPED_TRACE(fmt::format("BERTH_SEED={}, {} nodes", seed, nodes));
      GroupChanges changes(seed, nodes);
      for (std::size_t i = 0; i < nodes; ++i) changes.change();
      for (int i = 0; i < (nodes > 1000 ? k_changes_of_many_nodes : 500); ++i) {
        changes.change();
        ASSERT_NO_FATAL_FAILURE(changes.expect_kept_is_fresh()) << "after change " << i;
      }
    }
}

}  // namespace
}  // namespace berth::cycle
