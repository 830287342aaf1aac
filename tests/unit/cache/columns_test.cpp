// SPDX-License-Identifier: Apache-2.0
#include "cache/columns.hpp"

#include <set>

#include "base/bitmap.hpp"
#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

struct ColumnFixture : CacheFixture {
  ColumnFixture() {
    add_node("n1", "a");
    add_node("n2", "b");
    refresh();
  }
  ColumnId resource(ColumnKind kind, ResourceIndex r) { return snapshot.ensure_column({kind, r}); }
  ColumnId label(const std::string& key) { return snapshot.ensure_column({ColumnKind::label, 0, symbols.intern(key)}); }
};

TEST(Columns, FollowThePodsOfANode) {
  ColumnFixture f;
  const ColumnId free = f.resource(ColumnKind::free, k_cpu), capacity = f.resource(ColumnKind::capacity, k_cpu),
                 requested = f.resource(ColumnKind::requested, k_cpu), nonzero = f.resource(ColumnKind::nonzero, k_cpu),
                 pods = f.snapshot.ensure_column({ColumnKind::pods});
  f.add_pod(f.make_pod("p", "n1", 1500));
  f.add_pod(f.make_pod("q", "n1"));
  f.refresh();
  EXPECT_EQ(f.wide(free, "n1"), 2500);
  EXPECT_EQ(f.wide(capacity, "n1"), 4000);
  EXPECT_EQ(f.wide(requested, "n1"), 1500);
  EXPECT_EQ(f.wide(nonzero, "n1"), 1600);
  EXPECT_EQ(f.wide(pods, "n1"), 2);
  EXPECT_EQ(f.wide(free, "n2"), 4000);
  EXPECT_EQ(f.wide(pods, "n2"), 0);
}

TEST(Columns, DistinguishAResourceThatIsNotListedFromOneOfAmountZero) {
  ColumnFixture f;
  auto node = f.make_node("n1", "a");
  const Symbol gpu = f.symbols.intern("example.com/gpu"), pods = f.symbols.intern("pods");
  node->allocatable.push_back({gpu, 0});
  node->capacity = {{f.symbols.intern("cpu"), 8000}, {pods, 250}, {gpu, 0}};
  node->lists_pods = true;
  f.cache.update_node(node);
  f.refresh();
  const ColumnId capacity = f.snapshot.ensure_column({ColumnKind::status_capacity, 0, f.symbols.intern("cpu")}),
                 pod_capacity = f.snapshot.ensure_column({ColumnKind::status_capacity, 0, pods});
  EXPECT_EQ(f.wide(capacity, "n1"), 8000) << "what the node has, not what is left for pods";
  EXPECT_EQ(f.wide(capacity, "n2"), 0);
  EXPECT_EQ(f.wide(pod_capacity, "n1"), 250);
  const auto has = [&](ColumnKind kind, Symbol key, const char* name) {
    const ColumnId id = f.snapshot.ensure_column({kind, 0, key});
    return bitmap::test(static_cast<const std::uint64_t*>(f.snapshot.column(id).data()), f.slot(name));
  };
  EXPECT_TRUE(has(ColumnKind::has_allocatable, gpu, "n1"));
  EXPECT_FALSE(has(ColumnKind::has_allocatable, gpu, "n2"));
  EXPECT_TRUE(has(ColumnKind::has_status_capacity, gpu, "n1"));
  EXPECT_FALSE(has(ColumnKind::has_status_capacity, pods, "n2"));
  EXPECT_TRUE(has(ColumnKind::lists_pods, 0, "n1"));
  EXPECT_FALSE(has(ColumnKind::lists_pods, 0, "n2"));
}

TEST(Columns, FreeMayBeNegative) {
  ColumnFixture f;
  const ColumnId free = f.resource(ColumnKind::free, k_cpu);
  f.add_pod(f.make_pod("p", "n1", 9000));
  f.refresh();
  EXPECT_EQ(f.wide(free, "n1"), -5000);
}

TEST(Columns, MadeLateShowTheSameAsMadeEarly) {
  ColumnFixture f;
  f.add_pod(f.make_pod("p", "n2", 300));
  f.refresh();
  EXPECT_EQ(f.wide(f.resource(ColumnKind::free, k_cpu), "n2"), 3700);
  EXPECT_EQ(f.wide(f.snapshot.ensure_column({ColumnKind::allowed_pods}), "n2"), 110);
}

TEST(Columns, AreMadeOncePerSpec) {
  ColumnFixture f;
  const ColumnId free = f.resource(ColumnKind::free, k_cpu);
  EXPECT_EQ(f.resource(ColumnKind::free, k_cpu), free);
  EXPECT_NE(f.resource(ColumnKind::free, k_memory), free);
  EXPECT_NE(f.label("x"), f.label("y"));
  const auto both = f.snapshot.resource_columns(k_cpu);
  EXPECT_EQ(both.free, free);
  EXPECT_EQ(both.capacity, f.resource(ColumnKind::capacity, k_cpu));
}

TEST(Columns, FollowTheNodeObject) {
  ColumnFixture f;
  const ColumnId zone = f.label("topology.kubernetes.io/zone"), name = f.snapshot.ensure_column({ColumnKind::name}),
                 cordoned = f.snapshot.ensure_column({ColumnKind::unschedulable}),
                 taints = f.snapshot.ensure_column({ColumnKind::taint_set});
  EXPECT_EQ(f.narrow(zone, "n1"), f.symbols.intern("a"));
  EXPECT_EQ(f.narrow(name, "n1"), f.symbols.intern("n1"));
  EXPECT_EQ(f.narrow(taints, "n1"), 0u);
  const ColumnId ready = f.snapshot.ensure_column({ColumnKind::condition, 0, f.symbols.intern("Ready")});
  EXPECT_EQ(f.narrow(ready, "n1"), 0u) << "a condition that is not there";
  auto changed = f.make_node("n1", "c");
  changed->conditions = {{f.symbols.intern("DiskPressure"), f.symbols.intern("False")},
                         {f.symbols.intern("Ready"), f.symbols.intern("Unknown")}};
  changed->unschedulable = true;
  changed->taints = {{f.symbols.intern("k"), f.symbols.intern("v"), model::TaintEffect::no_schedule}};
  f.cache.update_node(changed);
  f.refresh();
  EXPECT_EQ(f.narrow(zone, "n1"), f.symbols.intern("c"));
  EXPECT_EQ(f.narrow(ready, "n1"), f.symbols.intern("Unknown"));
  EXPECT_EQ(f.narrow(ready, "n2"), 0u);
  const auto* bits = static_cast<const std::uint64_t*>(f.snapshot.column(cordoned).data());
  EXPECT_TRUE(bitmap::test(bits, f.slot("n1")));
  EXPECT_FALSE(bitmap::test(bits, f.slot("n2")));
  const auto members = f.cache.lists().taints.members(f.narrow(taints, "n1"));
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(members[0], changed->taints[0]);
  EXPECT_EQ(f.narrow(f.label("absent"), "n1"), 0u);
}

TEST(Columns, OfAFreeSlotAreZero) {
  ColumnFixture f;
  const ColumnId free = f.resource(ColumnKind::free, k_cpu), zone = f.label("topology.kubernetes.io/zone");
  const Slot slot = f.slot("n1");
  f.remove_node("n1");
  f.refresh();
  EXPECT_EQ(static_cast<const std::int64_t*>(f.snapshot.column(free).data())[slot], 0);
  EXPECT_EQ(static_cast<const std::uint32_t*>(f.snapshot.column(zone).data())[slot], 0u);
  EXPECT_FALSE(bitmap::test(f.snapshot.nodes(), slot));
}

TEST(Columns, ArePaddedToSixtyFourRowsAndAligned) {
  ColumnFixture f;
  const ColumnData& free = f.snapshot.column(f.resource(ColumnKind::free, k_cpu));
  EXPECT_EQ(free.rows(), 64u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(free.data()) % 64, 0u);
  for (int i = 0; i < 64; ++i) f.add_node("more" + std::to_string(i));
  f.refresh();
  EXPECT_EQ(free.rows(), 128u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(free.at(64)) % 64, 0u);
  for (std::size_t i = f.snapshot.slot_count(); i < free.rows(); ++i)
    EXPECT_EQ(static_cast<const std::int64_t*>(free.data())[i], 0) << i;
}

TEST(Journal, NamesTheSlotsThatChanged) {
  ColumnFixture f;
  const std::uint64_t before = f.snapshot.journal_end();
  f.refresh();
  EXPECT_EQ(f.snapshot.journal_end(), before) << "nothing changed";
  f.add_pod(f.make_pod("p", "n2"));
  f.add_pod(f.make_pod("q", "n2"));
  f.refresh();
  ASSERT_EQ(f.snapshot.journal_end(), before + 1) << "a node is taken over once per refresh";
  EXPECT_EQ(f.snapshot.journal(before), f.slot("n2"));
  const Slot gone = f.slot("n1");
  f.remove_node("n1");
  f.remove_pod("p");
  f.refresh();
  std::set<Slot> named;
  for (std::uint64_t at = before + 1; at < f.snapshot.journal_end(); ++at) named.insert(f.snapshot.journal(at));
  EXPECT_EQ(named, (std::set<Slot>{gone, f.slot("n2")}));
}

}  // namespace
}  // namespace berth::cache::testing
