// SPDX-License-Identifier: Apache-2.0
#include "framework/points/requeue.hpp"

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

/// A filter that wants 4 cpus of capacity, asked through a derived interest.
struct DerivedInterest : ::testing::Test {
  DerivedInterest() {
    FakePlugin& plugin = f.make_plugin("FourCpus");
    plugin.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      binder.column(binder.ctx, BERTH_COL_ALLOCATABLE, key("cpu"));
      return BERTH_OK;
    };
    plugin.filter = [this](const berth_cycle_v1& cycle, const berth_node_block_v1& node, berth_filter_out_v1& out,
                           berth_note_v1*) -> berth_code {
      EXPECT_NE(cycle.pod, nullptr);
      asked.push_back(calls.at().load()->key());
      EXPECT_EQ(cycle.nodes, nullptr) << "no snapshot at hand";
      if (fails) return BERTH_ERROR;
      if (static_cast<const std::int64_t*>(node.columns[0])[0] < 4000) out.pass[0] &= ~std::uint64_t{1};
      return BERTH_OK;
    };
    instance = &f.add(plugin);
  }
  model::NodePtr node(const std::string& name, std::int64_t cpu_milli) {
    auto made = f.make_node(name);
    made->allocatable[0].amount = cpu_milli;
    return made;
  }
  std::uint64_t queued(model::EventObjects objects) {
    const model::PodPtr a = f.make_pod("a"), b = f.make_pod("b");
    const std::vector<const model::Pod*> pods{a.get(), b.get()};
    std::uint64_t queue = 0;
    calls.ask_filter(f.profile, *instance, objects, pods, &queue);
    return queue;
  }
  FrameworkFixture f;
  HintCalls calls;
  const PluginInstance* instance = nullptr;
  bool fails = false;
  std::vector<std::string> asked;  // pods, by what others may see
};

TEST_F(DerivedInterest, IsAnsweredByTheFilterOnTheChangedNode) {
  model::EventObjects small, large;
  small.new_node = node("small", 2000);
  large.new_node = node("large", 8000);
  EXPECT_EQ(queued(small), 0u);
  EXPECT_EQ(queued(large), 3u);
}

TEST_F(DerivedInterest, SaysWhichPodItIsAskedAbout) {
  EXPECT_EQ(calls.at().load(), nullptr);
  model::EventObjects small;
  small.new_node = node("small", 2000);
  queued(small);
  EXPECT_EQ(asked, (std::vector<std::string>{"default/a", "default/b"}));
  EXPECT_EQ(calls.at().load(), nullptr);
}

TEST_F(DerivedInterest, QueuesAllWhenTheFilterCannotTell) {
  EXPECT_EQ(queued({}), 3u) << "no node in the event";
  fails = true;
  model::EventObjects small;
  small.new_node = node("small", 2000);
  EXPECT_EQ(queued(small), 3u);
}

}  // namespace
}  // namespace berth::framework::testing
