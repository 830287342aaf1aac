// SPDX-License-Identifier: Apache-2.0
#include "cache/shapes.hpp"

#include <map>

#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

enum class Kind { plain, affinity, anti };

struct ShapeFixture : CacheFixture {
  ShapeFixture() {
    for (const char* name : {"n1", "n2"}) add_node(name);
  }
  std::shared_ptr<model::Pod> labelled(const std::string& name, const std::string& node, const std::string& app,
                                       Kind kind = Kind::plain) {
    auto pod = make_pod(name, node);
    pod->labels = {{symbols.intern("app"), symbols.intern(app)}};
    pod->spec.edit().affinity.present = kind != Kind::plain;
    model::AffinityTerm term;
    term.topology_key = symbols.intern("zone");
    if (kind == Kind::affinity) pod->spec.edit().affinity.preferred = {term};
    if (kind == Kind::anti) pod->spec.edit().affinity.anti_required = {term};
    return pod;
  }
  /// Number of pods per node of the shape with this app label; empty when the snapshot has none.
  std::map<std::string, std::uint32_t> counts(const std::string& app) {
    std::map<std::string, std::uint32_t> found;
    for (const SnapshotShape& shape : snapshot.shapes()) {
      if (shape.nodes.empty() || shape.exemplar->labels[0].value != symbols.intern(app)) continue;
      for (const ShapeNode& node : shape.nodes) found[snapshot.row(node.slot).node->name] += node.count;
    }
    return found;
  }
  std::vector<std::string> apps(std::span<const ShapeId> shapes) const {
    std::vector<std::string> names;
    for (const ShapeId id : shapes) names.emplace_back(symbols.text(snapshot.shapes()[id].exemplar->labels[0].value));
    std::sort(names.begin(), names.end());
    return names;
  }
};

using Counts = std::map<std::string, std::uint32_t>;
using Names = std::vector<std::string>;

TEST(Shapes, TellWhereHowManyAlikePodsAre) {
  ShapeFixture f;
  f.add_pod(f.labelled("a", "n1", "web"));
  f.add_pod(f.labelled("b", "n1", "web"));
  f.add_pod(f.labelled("c", "n2", "web"));
  f.add_pod(f.labelled("d", "n2", "db"));
  f.refresh();
  EXPECT_EQ(f.counts("web"), (Counts{{"n1", 2}, {"n2", 1}}));
  EXPECT_EQ(f.counts("db"), (Counts{{"n2", 1}}));
  EXPECT_EQ(f.snapshot.live_shape_count(), 2u);
  f.remove_pod("b");
  f.remove_pod("d");
  f.refresh();
  EXPECT_EQ(f.counts("web"), (Counts{{"n1", 1}, {"n2", 1}}));
  EXPECT_EQ(f.counts("db"), Counts{});
  EXPECT_EQ(f.snapshot.live_shape_count(), 1u);
}

TEST(Shapes, ListThoseWithAffinityAndWithRequiredAntiAffinity) {
  ShapeFixture f;
  f.add_pod(f.labelled("a", "n1", "plain"));
  f.add_pod(f.labelled("b", "n1", "near", Kind::affinity));
  f.add_pod(f.labelled("c", "n2", "apart", Kind::anti));
  f.refresh();
  EXPECT_EQ(f.apps(f.snapshot.shapes_with_affinity()), (Names{"apart", "near"}));
  EXPECT_EQ(f.apps(f.snapshot.shapes_with_required_anti()), Names{"apart"});
  f.remove_pod("c");
  f.refresh();
  EXPECT_EQ(f.apps(f.snapshot.shapes_with_affinity()), Names{"near"});
  EXPECT_TRUE(f.snapshot.shapes_with_required_anti().empty());
}

TEST(Shapes, SetTerminatingPodsApart) {
  ShapeFixture f;
  f.add_pod(f.labelled("a", "n1", "web"));
  auto leaving = f.labelled("b", "n1", "web");
  leaving->deleting = true;
  f.add_pod(leaving);
  f.refresh();
  ASSERT_EQ(f.snapshot.live_shape_count(), 2u);
  const auto& shapes = f.snapshot.shapes();
  EXPECT_NE(shapes.at(0).exemplar->deleting, shapes.at(1).exemplar->deleting);
}

TEST(Shapes, DifferByNamespaceLabelsAndTermsOnly) {
  ShapeFixture f;
  const auto base = f.labelled("a", "n1", "web");
  auto other = f.labelled("b", "n2", "web");
  other->priority = 10;
  other->requests.edit().resources[0].effective = 5;
  EXPECT_TRUE(same_shape(*base, *other));
  EXPECT_EQ(shape_hash(*base), shape_hash(*other));
  auto elsewhere = f.labelled("c", "n1", "web");
  elsewhere->ns_symbol = f.symbols.intern("other");
  EXPECT_FALSE(same_shape(*base, *elsewhere));
  EXPECT_FALSE(same_shape(*base, *f.labelled("d", "n1", "db")));
  EXPECT_FALSE(same_shape(*base, *f.labelled("e", "n1", "web", Kind::anti)));
}

// Between two refreshes the last pod of one shape leaves and a pod of another arrives.
TEST(Shapes, AnIdIsNotReusedBeforeTheSnapshotHasLetGoOfIt) {
  for (const char* arrives_on : {"n1", "n2"}) {
    SCOPED_TRACE(arrives_on);
    ShapeFixture f;
    f.add_pod(f.labelled("old", "n1", "plain"));
    f.refresh();
    f.add_pod(f.labelled("early", "n2", "other"));  // so that n2 is looked at before n1
    f.remove_pod("old");
    f.add_pod(f.labelled("new", arrives_on, "apart", Kind::anti));
    f.refresh();
    EXPECT_EQ(f.apps(f.snapshot.shapes_with_affinity()), Names{"apart"});
    EXPECT_EQ(f.apps(f.snapshot.shapes_with_required_anti()), Names{"apart"});
    EXPECT_EQ(f.counts("apart"), (Counts{{arrives_on, 1}}));
    f.remove_pod("new");
    f.add_pod(f.labelled("last", arrives_on, "plain"));
    f.refresh();
    EXPECT_TRUE(f.snapshot.shapes_with_affinity().empty());
    EXPECT_EQ(f.snapshot.live_shape_count(), 2u);
  }
}

TEST(Shapes, IdsAreReusedLaterSoThatTheTableStaysSmall) {
  ShapeFixture f;
  for (int i = 0; i < 100; ++i) {
    f.add_pod(f.labelled("p", "n1", "app" + std::to_string(i)));
    f.refresh();
    f.remove_pod("p");
    f.refresh();
  }
  EXPECT_LE(f.snapshot.shapes().size(), 2u);
  EXPECT_EQ(f.snapshot.live_shape_count(), 0u);
}

}  // namespace
}  // namespace berth::cache::testing
