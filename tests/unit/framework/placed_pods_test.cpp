// SPDX-License-Identifier: Apache-2.0
// "berth.pods/1": what a policy sees of the pods on nodes, and of those that are nominated to one.
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

struct Nominations final : NominationsPort {
  std::vector<model::NominatedPod> nominated() const override { return all; }
  std::vector<model::NominatedPod> all;
};

struct PlacedPodsFixture : FrameworkFixture {
  PlacedPodsFixture() {
    for (const char* name : {"n1", "n2"}) add_node(name);
    refresh();
    host.scheduler_names = {"default-scheduler"};
    host.ports.nominations = &nominations;
    plugin.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      return binder.pod_fields(binder.ctx, BERTH_POD_REQUESTS) == BERTH_POD_REQUESTS ? BERTH_OK : BERTH_TOO_OLD;
    };
    add(plugin);
    ctx = plugin.host->ctx;
    pods = &plugin.service<berth_pods_v1>("berth.pods/1");
  }
  std::shared_ptr<model::Pod> pod(const std::string& name, const std::string& node, const char* scheduler) {
    auto made = make_pod(name, node, 250);
    made->scheduler_name = scheduler;
    return made;
  }
  static std::uint32_t note(void* arg, const berth_placed_pod_v1* placed) {
    std::string& text = *static_cast<std::string*>(arg);
    text += (text.empty() ? "" : ", ") + std::string(from_abi(placed->pod->name)) + "@" + std::to_string(placed->node) +
            (placed->by < 0 ? "-" : "+");
    if ((placed->flags & BERTH_PLACED_TERMINATING) != 0) text += " terminating";
    if ((placed->flags & BERTH_PLACED_ASSUMED) != 0) text += " assumed";
    if ((placed->flags & BERTH_PLACED_OTHER_SCHEDULER) != 0) text += " other";
    return 1;
  }
  const berth_cycle_v1* cycle() { return begin(make_pod("at-hand")).abi(*profile.instances.front()); }
  std::string each() {
    std::string text;
    refresh();
    pods->each(ctx, cycle(), &note, &text);
    return text;
  }
  std::string on_node(berth_slot node) {
    std::string text;
    refresh();
    pods->on_node(ctx, cycle(), node, &note, &text);
    return text;
  }

  Nominations nominations;
  FakePlugin& plugin = make_plugin("example.com/Quota");
  const berth_pods_v1* pods = nullptr;
  void* ctx = nullptr;
};

TEST(PlacedPods, ShowsThoseOfAllSchedulersAndInAllStates) {
  PlacedPodsFixture f;
  f.add_pod(f.pod("a", "n1", "default-scheduler"));
  f.add_pod(f.pod("b", "n2", "another"));
  auto going = f.pod("c", "n1", "default-scheduler");
  going->deleting = true;
  f.add_pod(going);
  const cache::Assumption assumed = f.assume(f.pod("d", "", "default-scheduler"), "n2");
  EXPECT_EQ(f.each(), "a@0+, c@0+ terminating, b@1+ other, d@1+ assumed");
  EXPECT_EQ(f.on_node(1), "b@1+ other, d@1+ assumed");
  EXPECT_EQ(f.on_node(77), "") << "no such node";
}

TEST(PlacedPods, ShowsWhatTheInstanceAskedForAndWhoThePodIs) {
  PlacedPodsFixture f;
  f.add_pod(f.pod("a", "n1", "another"));
  f.refresh();
  berth_pod_v1 seen{};
  f.pods->each(
      f.ctx, f.cycle(),
      [](void* arg, const berth_placed_pod_v1* placed) {
        *static_cast<berth_pod_v1*>(arg) = *placed->pod;
        return 0u;
      },
      &seen);
  EXPECT_EQ(seen.ns, f.symbols.intern("default"));
  EXPECT_GT(seen.resource_count, 0u);
  EXPECT_EQ(seen.node_name, f.symbols.intern("n1"));
  EXPECT_EQ(seen.labels, nullptr) << "not asked for";
}

TEST(PlacedPods, EndsWhenTheVisitorHasSeenEnough) {
  PlacedPodsFixture f;
  for (const char* name : {"a", "b", "c"}) f.add_pod(f.pod(name, "n1", "another"));
  f.refresh();
  int seen = 0;
  f.pods->each(
      f.ctx, f.cycle(), [](void* arg, const berth_placed_pod_v1*) { return ++*static_cast<int*>(arg) == 2 ? 0u : 1u; },
      &seen);
  EXPECT_EQ(seen, 2);
}

TEST(PlacedPods, ShowsNominatedPodsWhereTheirNodeIs) {
  PlacedPodsFixture f;
  f.nominations.all = {{f.symbols.intern("n2"), f.pod("x", "", "default-scheduler")},
                       {f.symbols.intern("gone"), f.pod("y", "", "default-scheduler")},
                       {f.symbols.intern("n1"), f.pod("z", "", "default-scheduler")}};
  const auto of = [&](berth_slot node) {
    std::string text;
    f.pods->nominated(f.ctx, f.cycle(), node, &PlacedPodsFixture::note, &text);
    return text;
  };
  EXPECT_EQ(of(BERTH_NO_SLOT), "x@1+, z@0+");
  EXPECT_EQ(of(1), "x@1+");
  EXPECT_EQ(of(0), "z@0+");
}

TEST(PlacedPods, TellsWhatHasChangedSince) {
  PlacedPodsFixture f;
  f.add_pod(f.pod("a", "n1", "another"));
  f.refresh();
  const std::uint64_t position = f.pods->position(f.ctx, f.cycle());
  EXPECT_NE(position, 0u);
  f.add_pod(f.pod("b", "n2", "default-scheduler"));
  f.remove_pod("a");
  f.refresh();
  std::string text;
  EXPECT_EQ(f.pods->changes(f.ctx, f.cycle(), position, &PlacedPodsFixture::note, &text), 1u);
  EXPECT_EQ(text, "b@1+, a@0- other");
  EXPECT_EQ(f.pods->position(f.ctx, f.cycle()), position + 2);
  EXPECT_EQ(f.pods->changes(f.ctx, f.cycle(), position + 3, &PlacedPodsFixture::note, &text), 0u) << "of the future";
  EXPECT_EQ(f.pods->changes(f.ctx, f.cycle(), 0, &PlacedPodsFixture::note, &text), 0u) << "from before the first look";
}

TEST(PlacedPods, AreNotForQueueAndBinding) {
  PlacedPodsFixture f;
  auto made = f.create_from(f.plugin, "/plugins/quota.so", {});
  ASSERT_TRUE(made.ok());
  f.add_pod(f.pod("a", "n1", "another"));
  f.refresh();
  void* const of_file = f.plugin.host->ctx;
  observe::enter_plugin(made.value()->crumb(), observe::Point::bind);
  EXPECT_EQ(f.pods->position(of_file, nullptr), 0u);
  std::string text;
  f.pods->each(of_file, nullptr, &PlacedPodsFixture::note, &text);
  EXPECT_EQ(text, "");
  observe::leave_plugin();
}

}  // namespace
}  // namespace berth::framework::testing
