// SPDX-License-Identifier: Apache-2.0
// What comes and goes leaves the cache's tables as large as they were.

#include "base/bitmap.hpp"
#include "cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

/// Interns what `make` interns for as long as the object lives, as decoding does.
template <typename Make>
auto decoded(SymbolTable& symbols, Make&& make) {
  SymbolCollection collection(symbols);
  auto object = make();
  object->symbols = collection.take();
  return object;
}

TEST(Tables, OfAReplicaThatDecidesNothingDoNotGrowWithStatusUpdates) {
  CacheFixture f;
  for (int n = 0; n < 50; ++n) f.add_node("n" + std::to_string(n));
  f.cache.rest(f.snapshot);
  const auto pod = [&](int i) { return f.make_pod("p" + std::to_string(i), "n" + std::to_string(i % 50), 10); };
  for (int i = 0; i < 500; ++i) f.add_pod(pod(i));
  for (int update = 0; update < 30'000; ++update) ASSERT_TRUE(f.cache.update_pod(pod(update % 500)).ok());
  const CacheTables tables = f.cache.tables();
  EXPECT_LE(tables.pod_slots, 500 + ClusterCache::k_removals_at_rest + 1);
  EXPECT_LT(tables.removed_pods, ClusterCache::k_removals_at_rest);
  EXPECT_LE(tables.shapes, ClusterCache::k_removals_at_rest + 10);
  f.refresh();
  EXPECT_EQ(f.cache.tables().removed_pods, 0u);
  EXPECT_EQ(f.row("n7").requested_of(k_cpu), 100);
  EXPECT_EQ(f.pods_on("n7").size(), 10u);
}

TEST(Tables, OfAReplicaAtRestKeepFewBytesOfReplacedPods) {
  CacheFixture f;
  f.add_node("n1");
  f.cache.rest(f.snapshot);
  const auto large = [&] {
    auto pod = f.make_pod("p", "n1");
    pod->labels = std::vector<model::Label>(50'000, {7, 7});  // 400 kB
    return pod;
  };
  f.add_pod(large());
  std::size_t most = 0;
  for (int update = 0; update < 100; ++update) {
    ASSERT_TRUE(f.cache.update_pod(large()).ok());
    most = std::max(most, f.cache.tables().removed_bytes);
    f.cache.update_node(f.make_node("n1"));
  }
  EXPECT_LT(most, ClusterCache::k_removed_bytes_at_rest);
  EXPECT_GT(most, std::size_t{1} << 20) << "it is not done for each";
  f.refresh();
  EXPECT_EQ(f.cache.tables().removed_bytes, 0U);
}

TEST(Tables, SayHowManyBytesTheyTake) {
  CacheFixture f;
  f.add_node("n1");
  const CacheTables before = f.cache.tables();
  for (int i = 0; i < 3000; ++i) {
    auto pod = f.make_pod("p" + std::to_string(i), "n1");
    pod->labels = {{f.symbols.intern("job"), f.symbols.intern("job-" + std::to_string(i))}};
    f.add_pod(pod);
  }
  const CacheTables after = f.cache.tables();
  EXPECT_GE(after.pod_slot_bytes, before.pod_slot_bytes + 3000 * 20);
  EXPECT_GE(after.shape_bytes, before.shape_bytes + 3000 * 24);
  EXPECT_GT(after.resource_bytes, 0U);
}

TEST(Tables, KeepWhatASnapshotInUseMayName) {
  CacheFixture f;
  f.add_node("n1");
  f.add_pod(f.make_pod("p", "n1"));
  f.cache.rest(f.snapshot);
  f.refresh();  // the snapshot is read from here on
  const PodHandle handle = f.row("n1").pods.at(0);
  f.remove_pod("p");
  for (int i = 0; i < 1000; ++i) {
    f.add_pod(f.make_pod("q", "n1"));
    f.remove_pod("q");
  }
  ASSERT_NE(f.cache.pod(handle), nullptr);
  EXPECT_EQ(f.cache.pod(handle)->name, "p");
  EXPECT_EQ(f.row("n1").pods.size(), 1u);
}

TEST(Tables, OfAReplicaAtRestForgetShapesOfRemovedPods) {
  CacheFixture f;
  for (int n = 0; n < 4; ++n) f.add_node("n" + std::to_string(n));
  f.cache.rest(f.snapshot);
  for (int i = 0; i < 10'000; ++i) {
    f.add_pod(decoded(f.symbols, [&] {
      auto pod = f.make_pod("p", "n" + std::to_string(i % 4));
      pod->labels = {{f.symbols.intern("job"), f.symbols.intern("job-" + std::to_string(i))}};
      return pod;
    }));
    f.remove_pod("p");
  }
  EXPECT_LE(f.cache.tables().shapes, 2 * ClusterCache::k_removals_at_rest);
  f.refresh();
  EXPECT_EQ(f.snapshot.live_shape_count(), 0u);
}

TEST(Tables, ResourcesThatNoNodeOffersHaveNoNumberAndNoColumn) {
  CacheFixture f;
  for (int n = 0; n < 3; ++n) f.add_node("n" + std::to_string(n));
  const std::size_t before = f.cache.resources().size();
  auto greedy = f.make_pod("greedy", "n0", 100);
  for (int r = 0; r < 5000; ++r)
    greedy->requests.edit().resources.push_back(
        {.name = f.symbols.intern("example.com/r" + std::to_string(r)), .request = 1, .effective = 1, .scoring = 1});
  f.add_pod(greedy);
  f.refresh();
  EXPECT_EQ(f.cache.resources().size(), before);
  EXPECT_EQ(f.row("n0").requested.size(), 1u);
  EXPECT_EQ(f.row("n0").unoffered.size(), 5000u);
  const auto columns = f.snapshot.resource_columns(f.cache.resources().find(f.symbols.intern("example.com/r7")));
  EXPECT_EQ(f.wide(columns.capacity, "n0"), 0);
  EXPECT_EQ(f.wide(columns.free, "n0"), 0);
  const std::size_t column_count = f.snapshot.column_count();
  for (int r = 0; r < 5000; ++r)
    f.snapshot.resource_columns(f.cache.resources().find(f.symbols.intern("example.com/r" + std::to_string(r))));
  EXPECT_EQ(f.snapshot.column_count(), column_count);
  f.remove_pod("greedy");
  f.refresh();
  EXPECT_TRUE(f.row("n0").unoffered.empty());
}

TEST(Tables, AResourceThatANodeBeginsToOfferCountsWhatPodsAskedBefore) {
  CacheFixture f;
  f.add_node("n1");
  const Symbol gpu = f.symbols.intern("example.com/gpu");
  for (const char* name : {"a", "b"}) {
    auto pod = f.make_pod(name, "n1");
    pod->requests.edit().resources.push_back({.name = gpu, .request = 2, .effective = 2, .scoring = 2});
    f.add_pod(pod);
  }
  f.refresh();
  auto node = f.make_node("n1");
  node->allocatable.push_back({gpu, 8});
  f.cache.update_node(node);
  f.refresh();
  const auto columns = f.snapshot.resource_columns(f.cache.resources().find(gpu));
  EXPECT_EQ(f.wide(columns.capacity, "n1"), 8);
  EXPECT_EQ(f.wide(columns.free, "n1"), 4);
  f.remove_pod("a");
  f.refresh();
  EXPECT_EQ(f.wide(columns.free, "n1"), 6);
}

TEST(Tables, NumbersOfResourcesComeBackWhenNoNodeOffersThemAnyMore) {
  CacheFixture f;
  f.add_node("n1");
  f.add_node("n2");
  auto pod = f.make_pod("p", "n2");
  pod->requests.edit().resources.push_back(
      {.name = f.symbols.intern("example.com/r-0-0"), .request = 5, .effective = 5, .scoring = 5});
  f.add_pod(pod);
  for (int round = 0; round < 20; ++round) {
    auto node = f.make_node("n1");
    for (int r = 0; r < 300; ++r)
      node->allocatable.push_back({f.symbols.intern(fmt::format("example.com/r-{}-{}", round, r)), 10});
    f.cache.update_node(node);
    f.refresh();
    const ResourceIndex newest = f.cache.resources().find(f.symbols.find(fmt::format("example.com/r-{}-299", round)));
    ASSERT_NE(newest, k_no_resource) << round;
    EXPECT_EQ(f.row("n1").allocatable_of(newest), 10);
    EXPECT_EQ(f.row("n2").allocatable_of(newest), 0);
    EXPECT_EQ(f.wide(f.snapshot.resource_columns(newest).free, "n2"), 0) << "of the name that had the number before";
  }
  EXPECT_LE(f.cache.resources().size(), ResourceTable::k_numbers_max);
  EXPECT_EQ(f.cache.tables().refused_resources, 0u);
  auto node = f.make_node("n2");
  node->allocatable.push_back({f.symbols.intern("example.com/r-0-0"), 8});
  f.cache.update_node(node);
  f.refresh();
  EXPECT_EQ(f.row("n2").requested_of(f.cache.resources().find(f.symbols.intern("example.com/r-0-0"))), 5);
}

TEST(Tables, AResourceBeyondTheNumbersIsOfferedOnceThereAreNumbersAgain) {
  CacheFixture f;
  const auto node_with = [&](const std::string& name, const std::string& resource, std::size_t count) {
    auto node = f.make_node(name);
    for (std::size_t i = 0; i < count; ++i)
      node->allocatable.push_back({f.symbols.intern(fmt::format("{}-{}", resource, i)), 7});
    return node;
  };
  f.cache.add_node(node_with("n1", "example.com/first", ResourceTable::k_numbers_max));
  f.cache.add_node(node_with("n2", "example.com/late", 1));
  const Symbol late = f.symbols.find("example.com/late-0");
  EXPECT_EQ(f.cache.resources().find(late), k_no_resource);
  f.cache.update_node(f.make_node("n1"));
  f.refresh();
  f.cache.add_node(node_with("n3", "example.com/late", 1));
  f.cache.update_node(node_with("n3", "example.com/late", 0));
  // So many that numbers which no node seems to use are taken back.
  for (int round = 0; round < 3; ++round) {
    f.cache.update_node(node_with("n1", fmt::format("example.com/round-{}", round), 600));
    f.refresh();
  }
  const ResourceIndex number = f.cache.resources().find(late);
  ASSERT_NE(number, k_no_resource) << "n2 offers it";
  EXPECT_EQ(f.row("n2").allocatable_of(number), 7);
  EXPECT_EQ(f.wide(f.snapshot.resource_columns(number).capacity, "n2"), 7);
  const ResourceIndex newest = f.cache.resources().find(f.symbols.find("example.com/round-2-599"));
  ASSERT_NE(newest, k_no_resource);
  EXPECT_EQ(f.row("n2").allocatable_of(newest), 0);
}

TEST(Tables, LabelColumnsEndWithTheLabel) {
  CacheFixture f;
  for (int n = 0; n < 200; ++n) f.add_node("n" + std::to_string(n), "a");
  f.refresh();
  const Symbol zone = f.symbols.intern("topology.kubernetes.io/zone");
  const std::size_t before = f.snapshot.column_bytes();
  EXPECT_EQ(f.snapshot.label_values(zone)[f.slot("n3")], f.symbols.intern("a"));
  const std::size_t with_zone = f.snapshot.column_bytes();
  EXPECT_GT(with_zone, before);
  for (int key = 0; key < 1000; ++key)
    EXPECT_EQ(f.snapshot.label_values(f.symbols.intern("key" + std::to_string(key)))[f.slot("n3")], k_no_symbol);
  EXPECT_LE(f.snapshot.column_bytes(), with_zone + 8 * 256) << "keys that no node has share one column of zeros";
  f.cache.update_node(f.make_node("n3", "b"));
  f.refresh();
  EXPECT_EQ(f.snapshot.label_values(zone)[f.slot("n3")], f.symbols.intern("b"));
  for (int n = 0; n < 200; ++n) f.cache.update_node(f.make_node("n" + std::to_string(n)));
  f.refresh();
  f.refresh();
  EXPECT_LE(f.snapshot.column_bytes(), before + 8 * 256);
  EXPECT_EQ(f.snapshot.label_values(zone)[f.slot("n3")], k_no_symbol);
}

TEST(Tables, ListsOfVolumesAreMadeOncePerRefresh) {
  CacheFixture f;
  f.add_node("n1");
  f.refresh();
  const auto with_volumes = [&](const std::string& name, const std::string& node, int count) {
    auto pod = f.make_pod(name, node);
    std::vector<model::NodeVolume> volumes;
    for (int v = 0; v < count; ++v)
      volumes.push_back({pod->ns_symbol, f.symbols.intern(name + "-" + std::to_string(v)), 0, 0, 1, 0});
    pod->node_volumes = volumes;
    return pod;
  };
  const std::size_t before = f.cache.tables().list_bytes;
  for (const char* node : {"n1", "no-such-node"}) {
    f.add_pod(with_volumes(std::string("large-") + node, node, 10'000));
    for (int i = 0; i < 300; ++i) f.add_pod(with_volumes(fmt::format("small-{}-{}", node, i), node, 1));
  }
  EXPECT_EQ(f.cache.tables().list_bytes, before) << "the snapshot was not read yet";
  f.refresh();
  EXPECT_EQ(f.cache.lists().volumes.members(f.row("n1").volume_set).size(), 10'300u);
  EXPECT_LE(f.cache.tables().list_bytes, before + 2 * 10'300 * sizeof(model::NodeVolume));
  for (int i = 0; i < 100; ++i) {
    f.remove_pod(fmt::format("small-n1-{}", i));
    f.refresh();
  }
  EXPECT_LE(f.cache.tables().list_bytes, before + 40 * 10'300 * sizeof(model::NodeVolume)) << "100 lists were made";
}

TEST(Tables, ListsOfTaintsAndFeaturesAreSwept) {
  CacheFixture f;
  f.add_node("n1");
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    f.cache.update_node(decoded(f.symbols, [&] {
      auto node = f.make_node("n1");
      node->taints = {{f.symbols.intern("k"), f.symbols.intern("v" + std::to_string(i)), model::TaintEffect::other}};
      node->declared_features = {f.symbols.intern("f" + std::to_string(i))};
      return node;
    }));
    f.refresh();
    most = std::max(most, f.cache.tables().list_bytes);
  }
  EXPECT_LE(most, std::size_t{5} << 19);
  EXPECT_EQ(f.cache.lists().taints.members(f.row("n1").taint_set).size(), 1u);
}

TEST(Tables, NamesOfNodesThatPodsMadeUpAreForgotten) {
  CacheFixture f;
  f.cache.rest(f.snapshot);
  std::size_t warm = 0;
  for (int i = 0; i < 70'000; ++i) {
    f.add_pod(decoded(f.symbols, [&] { return f.make_pod("p", "a-node-that-is-not-there-" + std::to_string(i)); }));
    f.remove_pod("p");
    if (i == 50'000) warm = f.symbols.size().symbols;
  }
  EXPECT_LE(f.symbols.size().symbols, warm + 1000);
  EXPECT_LE(f.cache.counts().nodes, ClusterCache::k_removals_at_rest);
}

// Sums of amounts (L3).

TEST(Sums, ThatOverflowMakeNoRoom) {
  CacheFixture f;
  f.add_node("n1");
  const ColumnId free = f.snapshot.ensure_column({ColumnKind::free, k_cpu}),
                 allowed = f.snapshot.ensure_column({ColumnKind::allowed_pods});
  const std::int64_t huge = 9223372036854775'000;  // cpu: 9223372036854775
  f.add_pod(f.make_pod("small", "n1", 300));
  f.add_pod(f.make_pod("a", "n1", huge));
  f.add_pod(f.make_pod("b", "n1", huge));
  f.refresh();
  EXPECT_LT(f.wide(free, "n1"), 0);
  EXPECT_EQ(f.wide(allowed, "n1"), 0) << "whatever a pod asks for, it is not placed there";
  f.remove_pod("a");
  f.refresh();
  EXPECT_LT(f.wide(free, "n1"), 0);
  EXPECT_EQ(f.wide(allowed, "n1"), 110) << "the sum is a number again";
  f.remove_pod("b");
  f.refresh();
  EXPECT_EQ(f.wide(free, "n1"), 3700) << "and exact";
  EXPECT_EQ(f.row("n1").nonzero_cpu_milli, 300);
}

TEST(Sums, BelowTheSmallestNumberReturnToNormalWhenPodsLeave) {
  CacheFixture f;
  f.add_node("n1");
  const std::int64_t tiny = std::numeric_limits<std::int64_t>::min();
  for (const char* name : {"a", "b"}) f.add_pod(f.make_pod(name, "n1", tiny));
  f.refresh();
  EXPECT_FALSE(f.row("n1").wide_sums.empty());
  for (const char* name : {"a", "b"}) f.remove_pod(name);
  f.refresh();
  EXPECT_TRUE(f.row("n1").wide_sums.empty());
  EXPECT_EQ(f.row("n1").requested_of(k_cpu), 0);
}

}  // namespace
}  // namespace berth::cache::testing
