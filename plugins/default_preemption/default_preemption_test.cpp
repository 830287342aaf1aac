// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/preemption/victim_order.hpp>

namespace berth::default_preemption {
namespace {

constexpr std::int64_t k_late = BERTH_NOT_STARTED;

struct Node {
  std::vector<Victim> victims;
  std::uint32_t violations = 0;
};
Victim victim(std::int32_t priority, std::int64_t start_ns = 0) { return {start_ns, priority, 0, 0, 0}; }

/// Index of the node that is picked.
std::size_t picked(const std::vector<Node>& nodes) {
  std::vector<std::uint8_t> evicted(64, 1);
  std::vector<berth_victims_v1> raw;
  for (const Node& node : nodes)
    raw.push_back(
        {node.victims.data(), evicted.data(), static_cast<std::uint32_t>(node.victims.size()), node.violations});
  std::vector<std::uint64_t> ranks(nodes.size() * DefaultVictimOrder::criteria.size());
  DefaultVictimOrder::rank(raw, ranks.data());
  std::size_t best = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const auto* a = &ranks[i * DefaultVictimOrder::criteria.size()];
    const auto* b = &ranks[best * DefaultVictimOrder::criteria.size()];
    if (std::lexicographical_compare(a, a + DefaultVictimOrder::criteria.size(), b,
                                     b + DefaultVictimOrder::criteria.size()))
      best = i;
  }
  return best;
}

TEST(DefaultVictimOrder, PrefersFewerViolationsToEverything) {
  EXPECT_EQ(picked({{{victim(1)}, 1}, {{victim(1000), victim(1000)}, 0}}), 1u);
}
TEST(DefaultVictimOrder, ThenTheLowerHighestPriority) {
  EXPECT_EQ(picked({{{victim(10)}}, {{victim(9), victim(9), victim(9)}}}), 1u);
  EXPECT_EQ(picked({{{victim(-1)}}, {{victim(-2)}}}), 1u);
}
TEST(DefaultVictimOrder, ThenTheSmallerSum) {
  EXPECT_EQ(picked({{{victim(10), victim(5)}}, {{victim(10), victim(4)}}}), 1u);
}
TEST(DefaultVictimOrder, CountsNegativePrioritiesAsPods) {
  EXPECT_EQ(picked({{{victim(-5), victim(-5)}}, {{victim(-5)}}}), 1u);
}
TEST(DefaultVictimOrder, ThenTheLaterStartOfTheMostImportant) {
  EXPECT_EQ(picked({{{victim(10, 5), victim(1, 9)}}, {{victim(10, 6), victim(1, 1)}}}), 1u);
  EXPECT_EQ(picked({{{victim(10, 5)}}, {{victim(10, k_late)}}}), 1u);
}
TEST(DefaultVictimOrder, TakesTheEarlierOfEquals) { EXPECT_EQ(picked({{{victim(1, 1)}}, {{victim(1, 1)}}}), 0u); }

TEST(DefaultVictimOrder, RanksOnlyWhoIsEvicted) {
  const std::vector<Victim> pods{victim(100, 1), victim(1, 7)};
  const std::uint8_t evicted[] = {0, 1};
  const berth_victims_v1 node{pods.data(), evicted, 2, 0};
  std::uint64_t all[5], one[5];
  DefaultVictimOrder::rank({&node, 1}, all);
  const std::uint8_t alone[] = {1};
  const berth_victims_v1 single{pods.data() + 1, alone, 1, 0};
  DefaultVictimOrder::rank({&single, 1}, one);
  EXPECT_TRUE(std::equal(all, all + 5, one));
}

TEST(DefaultVictimOrder, AFurtherVictimNeverImprovesARank) {
  std::uint64_t seed = 20261120;
  const auto draw = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Victim> pods;
    for (std::uint64_t i = 0; i < 2 + draw(5); ++i)
      pods.push_back(victim(draw(8) == 0 ? INT32_MIN : static_cast<std::int32_t>(draw(5)) - 2,
                            draw(4) == 0 ? k_late : static_cast<std::int64_t>(draw(4))));
    // As a host hands them over: most important first.
    std::stable_sort(pods.begin(), pods.end(), [](const Victim& a, const Victim& b) {
      return std::pair(-std::int64_t{a.priority}, a.start_ns) < std::pair(-std::int64_t{b.priority}, b.start_ns);
    });
    std::vector<std::uint8_t> evicted(pods.size(), 0);
    evicted[draw(pods.size())] = 1;
    std::uint64_t before[5], after[5];
    berth_victims_v1 node{pods.data(), evicted.data(), static_cast<std::uint32_t>(pods.size()), 0};
    DefaultVictimOrder::rank({&node, 1}, before);
    evicted[draw(pods.size())] = 1;
    DefaultVictimOrder::rank({&node, 1}, after);
    EXPECT_FALSE(std::lexicographical_compare(after, after + 5, before, before + 5)) << "round " << round;
  }
}

TEST(DefaultVictimOrder, OrdersPodsByPriorityThenStart) {
  const Victim pods[] = {victim(1, 5), victim(2, 9), victim(2, 3), {k_late, 2, 0, 3, 0}, {k_late, 2, 0, 4, 0}};
  std::uint64_t keys[10];
  DefaultVictimOrder::importance(pods, keys);
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(keys[2 * a], keys[2 * a + 1]) < std::pair(keys[2 * b], keys[2 * b + 1]);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 1, 4, 3, 0}));
}

}  // namespace
}  // namespace berth::default_preemption
