// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <mutex>

#include "framework/points/post_filter.hpp"
#include "framework/points/queue.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

using config::Point;

config::PointSet bits(std::initializer_list<Point> points) {
  config::PointSet set = 0;
  for (const Point point : points) set |= config::bit_of(point);
  return set;
}

berth_plugin_v1 offering(const std::vector<berth_point_v1>& points) {
  berth_plugin_v1 plugin{};
  plugin.struct_size = sizeof plugin;
  plugin.points = points.data();
  plugin.point_count = static_cast<std::uint32_t>(points.size());
  return plugin;
}

TEST(PointsOf, NamesWholeTables) {
  const berth_filter_ops_v1 filter{};
  const berth_score_ops_v1 score{};
  const berth_reserve_ops_v1 reserve{};
  const berth_permit_ops_v1 permit{};
  const berth_post_filter_ops_v1 post_filter{};
  const std::vector<berth_point_v1> points{{"berth.filter/1", &filter},
                                           {"berth.score/1", &score},
                                           {"berth.reserve/1", &reserve},
                                           {"berth.permit/1", &permit},
                                           {"berth.post_filter/1", &post_filter}};
  EXPECT_EQ(points_of(offering(points)),
            bits({Point::filter, Point::score, Point::reserve, Point::permit, Point::post_filter}));
}

TEST(PointsOf, NamesOnlyTheFunctionsThatATableHas) {
  berth_queue_ops_v1 queue{};
  berth_prepare_ops_v1 prepare{};
  berth_bind_ops_v1 bind{};
  const std::vector<berth_point_v1> points{
      {"berth.queue/1", &queue}, {"berth.prepare/1", &prepare}, {"berth.bind/1", &bind}};
  EXPECT_EQ(points_of(offering(points)), 0u);
  queue.less = [](void*, const berth_queue_pod_v1*, const berth_queue_pod_v1*) -> std::int32_t { return 0; };
  EXPECT_EQ(points_of(offering(points)), bits({Point::queue_sort}));
  prepare.pre_score = [](void*, berth_cycle_v1*, const berth_slot*, std::uint32_t, berth_note_v1*) -> berth_code {
    return BERTH_OK;
  };
  bind.post_bind = [](void*, berth_cycle_v1*, const berth_bind_call_v1*) {};
  EXPECT_EQ(points_of(offering(points)), bits({Point::queue_sort, Point::pre_score, Point::post_bind}));
}

TEST(PointsOf, PassesOverTablesItDoesNotKnow) {
  const berth_filter_ops_v1 filter{};
  const std::vector<berth_point_v1> points{
      {"berth.filter/2", &filter}, {"example.com/own", &filter}, {nullptr, nullptr}};
  EXPECT_EQ(points_of(offering(points)), 0u);
}

TEST(PluginInstance, IsReusableWhenItsVerdictDependsOnPodAndRowOnly) {
  struct Row {
    std::uint32_t deps, groups;
    bool reusable;
  };
  const Row rows[] = {{BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE, BERTH_POD_LABELS, true},
                      {BERTH_DEP_POD_SPEC | BERTH_DEP_OTHER_NODES, 0, false},
                      {BERTH_DEP_POD_SPEC | BERTH_DEP_CLOCK, 0, false},
                      {BERTH_DEP_EVERYTHING, 0, false},
                      {BERTH_DEP_POD_SPEC, BERTH_POD_IDENTITY, false},
                      {BERTH_DEP_POD_SPEC, BERTH_POD_JSON, false}};
  for (const Row& row : rows) {
    FrameworkFixture f;
    FakePlugin& plugin = f.make_plugin("P");
    plugin.deps = row.deps;
    plugin.create = [&](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      binder.pod_fields(binder.ctx, row.groups);
      return BERTH_OK;
    };
    const PluginInstance& made = f.add(plugin);
    EXPECT_EQ(made.filter_is_reusable(), row.reusable) << &row - rows;
    EXPECT_EQ(made.score_is_reusable(), row.reusable) << &row - rows;
  }
}

TEST(PluginInstance, APointMayDependOnLessThanThePlugin) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("P");
  plugin.filter = [](const auto&, const auto&, auto&, auto*) -> berth_code { return BERTH_OK; };
  plugin.score = [](const auto&, auto*, auto*) -> berth_code { return BERTH_OK; };
  plugin.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_EXTERNAL;
  plugin.filter_deps = BERTH_DEP_NODE_STATIC;
  const PluginInstance& made = f.add(plugin);
  EXPECT_TRUE(made.filter_is_reusable()) << "a score from outside does not end the reuse of a filter of labels";
  EXPECT_FALSE(made.score_is_reusable());
}

TEST(PluginInstance, InputsWhoseChangesAreAnnouncedKeepReuse) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("P");
  plugin.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_OBJECTS | BERTH_DEP_EXTERNAL | BERTH_DEP_CLOCK | BERTH_DEP_ANNOUNCED;
  plugin.create = [&](const berth_binder_v1&, berth_note_v1* note) -> berth_code {
    std::uint32_t watch = 0;
    const berth_field_v1 field{key("spec.size"), BERTH_FIELD_INT, 0};
    return plugin.service<berth_objects_v1>("berth.objects/1")
        .watch(plugin.host->ctx, key("example.com/v1/widgets"), &field, 1, &watch, note);
  };
  const PluginInstance& made = f.add(plugin);
  EXPECT_TRUE(made.filter_is_reusable());
  const std::uint64_t before = made.epoch();
  model::Object widget;
  widget.resource = "example.com/v1/widgets";
  widget.name = "w";
  f.objects.apply(widget);
  const std::uint64_t changed = made.epoch();
  EXPECT_NE(changed, before) << "an object that it watches has changed";
  plugin.service<berth_epoch_v1>("berth.epoch/1").bump(plugin.host->ctx);
  EXPECT_NE(made.epoch(), changed);

  FakePlugin& other = f.make_plugin("Q");
  other.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_OTHER_NODES | BERTH_DEP_ANNOUNCED;
  EXPECT_FALSE(f.add(other).filter_is_reusable()) << "other nodes are not announced";
}

TEST(PluginInstance, RemembersWhatItAskedFor) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("P");
  std::vector<std::uint32_t> indices;
  plugin.create = [&](const berth_binder_v1& b, berth_note_v1*) -> berth_code {
    indices = {b.column(b.ctx, BERTH_COL_FREE, key("cpu")),
               b.column(b.ctx, BERTH_COL_ALLOCATABLE, key("pods")),
               b.column(b.ctx, 4711, key("")),
               b.column(b.ctx, BERTH_COL_POD_FREE, key("")),
               b.request(b.ctx, key("memory")),
               b.request(b.ctx, key("cpu")),
               b.request(b.ctx, key("memory"))};
    b.pod_label(b.ctx, key("tier"));
    b.pod_label(b.ctx, key("app"));
    return BERTH_OK;
  };
  const PluginInstance& instance = f.add(plugin);
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{0, 1, BERTH_NO_COLUMN, 2, 0, 1, 0}));
  EXPECT_EQ(instance.columns().size(), 3u);
  EXPECT_TRUE(instance.pod_bound());
  EXPECT_EQ(instance.fields().groups, static_cast<std::uint32_t>(BERTH_POD_REQUESTS)) << "pod-bound columns need them";
  EXPECT_TRUE(std::is_sorted(instance.fields().labels.begin(), instance.fields().labels.end()));
  EXPECT_EQ(instance.hint_fields().groups & BERTH_POD_IDENTITY, static_cast<std::uint32_t>(BERTH_POD_IDENTITY));
}

TEST(PluginInstanceDeathTest, EndsTheProcessWhenCreateHangs) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  FrameworkFixture f;
  f.host.create_limit = std::chrono::milliseconds(50);
  FakePlugin& plugin = f.make_plugin("Hangs");
  plugin.create = [](const berth_binder_v1&, berth_note_v1*) -> berth_code {
    std::mutex never;
    std::unique_lock lock(never);
    std::condition_variable().wait(lock, [] { return false; });
    return BERTH_OK;
  };
  EXPECT_EXIT(static_cast<void>(f.create(plugin)), ::testing::ExitedWithCode(1),
              "BERTH-P052 create took too long\n  plugin:    Hangs\n  evidence:  create has run for 50 ms");
}

/// What a later ABI may say there must not be taken for "leave the nomination as it is".
TEST(PostFilter, FailsWithAnAnswerThatIsNotKnown) {
  struct Row {
    std::uint32_t nominate, reserved;
    const char* message;
  };
  for (const Row& row :
       {Row{3, 0, "plugin Odd answered with nominate 3 and 0 in the reserved field"},
        Row{BERTH_NOMINATE_CLEAR, 7, "plugin Odd answered with nominate 1 and 7 in the reserved field"},
        Row{BERTH_NOMINATE_CLEAR, 0, ""}}) {
    FrameworkFixture f;
    f.add_node("n1");
    f.refresh();
    FakePlugin& plugin = f.make_plugin("Odd");
    plugin.post_filter = [&](const auto&, const auto&, berth_post_filter_out_v1& out, auto*) -> berth_code {
      out.nominate = row.nominate;
      out.reserved = row.reserved;
      return BERTH_OK;
    };
    f.add(plugin);
    const std::uint64_t none = 0;
    const PostFilterResult result = run_post_filter(f.begin(f.make_pod("p")), &none, &none, 1);
    EXPECT_EQ(result.message, row.message);
    EXPECT_EQ(result.code, *row.message == '\0' ? Code::success : Code::error);
  }
}

/// A gate that asks about a pod's uid must not have to request what makes every pod a class of its own.
TEST(PreEnqueue, ShowsIdentityToAGateThatRequestedNone) {
  FrameworkFixture f;
  FakePlugin& gate = f.make_plugin("Gate");
  std::string name, uid;
  gate.pre_enqueue = [&](const berth_queue_pod_v1& queued, berth_note_v1*) -> berth_code {
    name = std::string(queued.pod->name.ptr, queued.pod->name.len);
    uid = std::string(queued.pod->uid.ptr, queued.pod->uid.len);
    return BERTH_OK;
  };
  const PluginInstance& instance = f.add(gate);
  const model::PodPtr pod = f.make_pod("p");
  QueueCalls calls;
  EXPECT_TRUE(calls.pre_enqueue(instance, {pod, 0, 1, 0}).success());
  EXPECT_EQ(name, "p");
  EXPECT_FALSE(uid.empty());
  EXPECT_EQ(instance.fields().groups & BERTH_POD_IDENTITY, 0u);
}

}  // namespace
}  // namespace berth::framework::testing
