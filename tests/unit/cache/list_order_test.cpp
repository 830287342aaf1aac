// SPDX-License-Identifier: Apache-2.0
#include "cache/node_tree.hpp"
#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

struct TreeFixture : CacheFixture {
  std::string list() {
    std::string text;
    for (const Symbol name : tree.list()) text += (text.empty() ? "" : " ") + std::string(symbols.text(name));
    return text;
  }
  void fill() {
    for (const char* name : {"a1", "a2", "b1", "c1", "a3", "c2"}) tree.add(*make_node(name, std::string(1, name[0])));
  }
  /// A node with exactly these labels.
  std::shared_ptr<model::Node> labelled(const std::string& name,
                                        std::initializer_list<std::pair<const char*, const char*>> labels) {
    auto node = make_node(name);
    for (const auto& [key, value] : labels) node->labels.push_back({symbols.intern(key), symbols.intern(value)});
    std::sort(node->labels.begin(), node->labels.end(),
              [](const model::Label& a, const model::Label& b) { return a.key < b.key; });
    return node;
  }
  NodeTree tree{symbols};
};

TEST(NodeTree, TakesOneNodeOfEachZoneInTurn) {
  TreeFixture f;
  f.fill();
  EXPECT_EQ(f.list(), "a1 b1 c1 a2 c2 a3");
  EXPECT_EQ(f.tree.size(), 6u);
}

TEST(NodeTree, AnEmptiedZoneComesBackLast) {
  TreeFixture f;
  f.fill();
  EXPECT_TRUE(f.tree.remove(*f.make_node("b1", "b")));
  EXPECT_EQ(f.list(), "a1 c1 a2 c2 a3");
  f.tree.add(*f.make_node("b1", "b"));
  EXPECT_EQ(f.list(), "a1 c1 b1 a2 c2 a3");
}

TEST(NodeTree, MovesANodeWhoseZoneChanged) {
  TreeFixture f;
  f.fill();
  const auto before = f.make_node("a1", "a");
  f.tree.update(before.get(), *f.make_node("a1", "c"));
  EXPECT_EQ(f.list(), "a2 b1 c1 a3 c2 a1");
  f.tree.update(f.make_node("a3", "a").get(), *f.make_node("a3", "a"));
  EXPECT_EQ(f.list(), "a2 b1 c1 a3 c2 a1") << "the same zone moves no node";
  EXPECT_EQ(f.tree.size(), 6u);
}

TEST(NodeTree, SaysSoWhenANodeIsNotWhereItsLabelsSay) {
  TreeFixture f;
  f.fill();
  EXPECT_FALSE(f.tree.remove(*f.make_node("a1", "b")));
  EXPECT_FALSE(f.tree.remove(*f.make_node("a1", "elsewhere")));
  EXPECT_EQ(f.tree.size(), 6u);
}

TEST(NodeTree, CountsANodeOnceInItsZone) {
  TreeFixture f;
  f.tree.add(*f.make_node("a1", "a"));
  f.tree.add(*f.make_node("a1", "a"));
  EXPECT_EQ(f.list(), "a1");
  EXPECT_EQ(f.tree.size(), 1u);
}

TEST(NodeTree, OldLabelsWinEvenWhenTheyAreEmpty) {
  TreeFixture f;
  constexpr const char* k_old = "failure-domain.beta.kubernetes.io/zone";
  constexpr const char* k_new = "topology.kubernetes.io/zone";
  // x and w lie in zone "1" whichever label says so; y's old label hides its new one, which leaves it without a zone,
  // as z.
  f.tree.add(*f.labelled("x", {{k_new, "1"}, {k_old, "1"}}));
  f.tree.add(*f.labelled("y", {{k_new, "1"}, {k_old, ""}}));
  f.tree.add(*f.labelled("z", {}));
  f.tree.add(*f.labelled("w", {{k_old, "1"}}));
  EXPECT_EQ(f.list(), "x y w z");
}

TEST(NodeTree, EqualZonesOfDifferentRegionsAreDifferentZones) {
  TreeFixture f;
  constexpr const char* k_zone = "topology.kubernetes.io/zone";
  constexpr const char* k_region = "topology.kubernetes.io/region";
  f.tree.add(*f.labelled("x", {{k_zone, "1"}, {k_region, "north"}}));
  f.tree.add(*f.labelled("y", {{k_zone, "1"}, {k_region, "north"}}));
  f.tree.add(*f.labelled("z", {{k_zone, "1"}, {k_region, "south"}}));
  EXPECT_EQ(f.list(), "x z y");
}

/// The example cluster, once refreshed.
struct OrderFixture : CacheFixture {
  OrderFixture() {
    for (const char* name : {"a1", "a2", "b1", "c1", "a3", "c2"}) add_node(name, std::string(1, name[0]));
    refresh();
    generation = snapshot.membership_generation();
  }
  std::uint64_t generation = 0;
};

TEST(ListOrder, IsTheTreesWhenNodesEnter) {
  OrderFixture f;
  EXPECT_EQ(f.order(), "a1 b1 c1 a2 c2 a3");
  for (std::uint32_t i = 0; i < f.snapshot.order().size(); ++i)
    EXPECT_EQ(f.snapshot.order_index()[f.snapshot.order()[i]], i);
}

TEST(ListOrder, StaysWhenANameLeavesAndReturnsBetweenTwoRefreshes) {
  OrderFixture f;
  const Slot slot = f.slot("b1");
  f.remove_node("b1");
  f.add_node("b1", "b");
  f.refresh();
  EXPECT_EQ(f.order(), "a1 b1 c1 a2 c2 a3");
  EXPECT_EQ(f.slot("b1"), slot);
  EXPECT_EQ(f.snapshot.membership_generation(), f.generation);
  f.add_node("d1", "d");  // now the tree's order shows: zone b had become the last
  f.refresh();
  EXPECT_EQ(f.order(), "a1 c1 b1 d1 a2 c2 a3");
}

TEST(ListOrder, ChangesWhenARefreshSeesTheNameGone) {
  OrderFixture f;
  f.remove_node("b1");
  f.refresh();
  EXPECT_EQ(f.order(), "a1 c1 a2 c2 a3");
  EXPECT_EQ(f.slot("b1"), k_no_slot);
  f.add_node("b1", "b");
  f.refresh();
  EXPECT_EQ(f.order(), "a1 c1 b1 a2 c2 a3");
}

TEST(ListOrder, StaysWhenAZoneLabelChanges) {
  OrderFixture f;
  f.cache.update_node(f.make_node("a1", "c"));
  f.refresh();
  EXPECT_EQ(f.order(), "a1 b1 c1 a2 c2 a3");
  EXPECT_EQ(f.snapshot.membership_generation(), f.generation);
  f.add_node("d1", "d");
  f.refresh();
  EXPECT_EQ(f.order(), "a2 b1 c1 d1 a3 c2 a1");
}

}  // namespace
}  // namespace berth::cache::testing
