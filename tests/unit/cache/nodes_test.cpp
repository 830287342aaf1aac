// SPDX-License-Identifier: Apache-2.0
#include "base/bitmap.hpp"
#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

TEST(CachedNodes, AnUnknownNodeCannotBeRemoved) {
  CacheFixture f;
  const Status status = f.cache.remove_node(*f.make_node("n"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "node n is not found");
}

TEST(CachedNodes, AGhostHoldsPodsOfANodeThatIsNotThere) {
  CacheFixture f;
  f.add_pod(f.make_pod("p", "n", 700));
  f.refresh();
  EXPECT_EQ(f.cache.counts().nodes, 1u);
  EXPECT_EQ(f.snapshot.node_count(), 0u) << "no cycle sees it";
  EXPECT_TRUE(f.snapshot.shapes().empty() || f.snapshot.live_shape_count() == 0);
  EXPECT_FALSE(f.cache.remove_node(*f.make_node("n")).ok()) << "a ghost is no node";

  f.add_node("n");
  f.refresh();
  EXPECT_EQ(f.row("n").requested_of(k_cpu), 700) << "its pods were counted all along";
  EXPECT_EQ(f.snapshot.live_shape_count(), 1u);
}

TEST(CachedNodes, ANodeThatLeavesBeforeItsPodsBecomesAGhost) {
  CacheFixture f;
  f.add_node("n");
  f.add_pod(f.make_pod("p", "n", 700));
  f.refresh();
  f.remove_node("n");
  f.refresh();
  EXPECT_EQ(f.snapshot.node_count(), 0u);
  EXPECT_EQ(f.cache.find_node(f.symbols.intern("n")), nullptr);
  EXPECT_EQ(f.cache.counts().nodes, 1u);
  EXPECT_EQ(f.cache.find_pod("uid-p")->node, f.symbols.intern("n"));
  f.remove_pod("p");
  f.refresh();
  EXPECT_EQ(f.cache.counts().nodes, 0u);
  EXPECT_EQ(f.cache.counts().pods, 0u);
}

TEST(CachedNodes, ASlotIsReusedOnlyAfterItsNodeIsGoneFromTheSnapshot) {
  CacheFixture f;
  f.add_node("old");
  f.refresh();
  const Slot slot = f.slot("old");
  f.remove_node("old");
  f.add_node("early");
  f.refresh();
  EXPECT_NE(f.slot("early"), slot);
  f.add_node("late");
  f.refresh();
  EXPECT_EQ(f.slot("late"), slot);
  EXPECT_EQ(f.row("late").node->name, "late");
  EXPECT_TRUE(bitmap::test(f.snapshot.nodes(), slot));
  EXPECT_EQ(f.snapshot.node_count(), 2u);
}

ImageState image_on(CacheFixture& f, const std::string& node, const std::string& image) {
  return f.image_on(node, image);
}
std::shared_ptr<model::Node> with_image(CacheFixture& f, const std::string& node, std::int64_t size_bytes) {
  return f.with_image(node, size_bytes);
}

TEST(ImageCounts, OfOtherNodesAreAsOldAsTheirRows) {
  CacheFixture f;
  f.cache.add_node(with_image(f, "n1", 500));
  f.refresh();
  EXPECT_EQ(image_on(f, "n1", "app:1").node_count, 1u);

  f.cache.add_node(with_image(f, "n2", 500));
  f.refresh();
  EXPECT_EQ(image_on(f, "n2", "app:1").node_count, 2u);
  EXPECT_EQ(image_on(f, "n1", "app:1").node_count, 1u) << "n1 did not change, so its copy is not renewed";

  f.add_pod(f.make_pod("p", "n1"));
  f.refresh();
  EXPECT_EQ(image_on(f, "n1", "app:1").node_count, 2u) << "any change of the row renews it";
}

/// Two nodes with the image, and the first was counted while it was the only one.
struct CountedBefore : CacheFixture {
  CountedBefore() {
    cache.add_node(with_image("n1", 500));
    refresh();
    cache.add_node(with_image("n2", 500));
    refresh();
    EXPECT_EQ(count(), 1u);
  }
  std::uint32_t count() { return image_on("n1", "app:1").node_count; }
};

TEST(ImageCounts, APodThatIsOnlyTriedRenewsNone) {
  CountedBefore f;
  {
    const Assumption tried = f.assume(f.make_pod("p"), "n1", Assume::tried);
    const Slot slot = f.slot("n1");
    f.cache.refresh_nodes(f.snapshot, {&slot, 1});
    EXPECT_EQ(f.pods_on("n1"), std::vector<std::string>{"p"});
    EXPECT_EQ(f.count(), 1u);
  }
  f.refresh();
  EXPECT_EQ(f.count(), 1u) << "upstream tries pods of a group in the snapshot alone";
  Assumption stays = f.assume(f.make_pod("q"), "n1", Assume::tried);
  stays.decide();
  f.refresh();
  EXPECT_EQ(f.count(), 2u);
}

TEST(ImageCounts, APodThatIsAssumedOrGivenBackRenewsThem) {
  CountedBefore f;
  Assumption assumed = f.assume(f.make_pod("p"), "n1");
  f.refresh();
  EXPECT_EQ(f.count(), 2u);
  f.cache.add_node(f.with_image("n3", 500));
  f.refresh();
  EXPECT_EQ(f.count(), 2u);
  assumed.forget();
  f.refresh();
  EXPECT_EQ(f.count(), 3u);
}

TEST(ImageCounts, AQuestionSeesThemAsTheNextDecisionWould) {
  CountedBefore f;
  f.add_pod(f.make_pod("p", "n1"));
  f.cache.refresh(f.snapshot, Look::question);
  EXPECT_EQ(f.count(), 2u);
  f.cache.add_node(f.with_image("n3", 500));
  f.refresh();
  EXPECT_EQ(f.count(), 3u) << "no decision has looked since n1 changed";
  f.cache.add_node(f.with_image("n4", 500));
  f.cache.refresh(f.snapshot, Look::question);
  EXPECT_EQ(f.count(), 3u) << "now one has";
}

TEST(ImageCounts, AreNotMadeAtRest) {
  CountedBefore f;
  f.add_pod(f.make_pod("p", "n1"));
  f.cache.rest(f.snapshot);
  for (std::size_t i = 0; i < ClusterCache::k_removals_at_rest; ++i) {
    f.add_pod(f.make_pod("gone", "n2"));
    f.remove_pod("gone");
  }
  EXPECT_EQ(f.pods_on("n1"), std::vector<std::string>{"p"}) << "the cache has brought the snapshot up to date";
  f.cache.add_node(f.with_image("n3", 500));
  f.refresh();
  EXPECT_EQ(f.count(), 3u);
}

TEST(ImageCounts, TheFirstNodeThatHasAnImageSaysHowLargeItIs) {
  CacheFixture f;
  f.cache.add_node(with_image(f, "n1", 500));
  f.cache.add_node(with_image(f, "n2", 900));
  f.refresh();
  EXPECT_EQ(image_on(f, "n2", "app:1").size_bytes, 500);
  f.remove_node("n1");
  f.remove_node("n2");
  f.cache.add_node(with_image(f, "n3", 900));
  f.refresh();
  EXPECT_EQ(image_on(f, "n3", "app:1"), (ImageState{f.symbols.intern("app:1"), 1, 900}));
}

TEST(ImageCounts, GoDownWhenANodeLosesAnImage) {
  CacheFixture f;
  f.cache.add_node(with_image(f, "n1", 500));
  f.cache.add_node(with_image(f, "n2", 500));
  f.refresh();
  f.cache.update_node(f.make_node("n1"));
  f.cache.update_node(with_image(f, "n2", 500));
  f.refresh();
  EXPECT_EQ(f.row("n1").image_set, 0u);
  EXPECT_EQ(image_on(f, "n2", "app:1").node_count, 1u);
}

TEST(ImageCounts, AnImageUnderTwoNamesCountsUnderBoth) {
  CacheFixture f;
  f.cache.add_node(with_image(f, "n1", 500));
  f.refresh();
  EXPECT_EQ(image_on(f, "n1", "app:1").node_count, 1u);
  EXPECT_EQ(image_on(f, "n1", "app@sha256:1").node_count, 1u);
}

}  // namespace
}  // namespace berth::cache::testing
