// SPDX-License-Identifier: Apache-2.0
// "berth.preemption/1": what a policy can learn of the pods that may have to go.
#include "preemption/preemption.hpp"

#include "unit/framework/framework_fixture.hpp"

namespace berth::preemption {
namespace {

using framework::testing::FakePlugin;
using framework::testing::FrameworkFixture;
using framework::testing::key;
using Words = std::vector<std::string>;

/// Pods of a team matter less than those of others, which only their labels say.
struct TeamFixture : FrameworkFixture {
  TeamFixture() {
    host.more_services = service.services();
    plugin.services = {"berth.preemption/1"};
    plugin.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      binder.pod_fields(binder.ctx, BERTH_POD_LABELS);
      return BERTH_OK;
    };
    plugin.post_filter = [](berth_cycle_v1&, const berth_post_filter_in_v1&, berth_post_filter_out_v1&,
                            berth_note_v1*) -> berth_code { return BERTH_OK; };
    FakePlugin& fits = make_plugin("Fits");
    fits.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE;
    fits.reasons = {"Insufficient cpu"};
    fits.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      binder.column(binder.ctx, BERTH_COL_FREE, key("cpu"));
      return BERTH_OK;
    };
    fits.filter = [](const berth_cycle_v1&, const berth_node_block_v1& block, berth_filter_out_v1& out,
                     berth_note_v1*) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row)
        if (static_cast<const std::int64_t*>(block.columns[0])[row] < 1000)
          out.pass[row / 64] &= ~(std::uint64_t{1} << (row % 64));
      return BERTH_OK;
    };
    add(fits);
    add(plugin);
  }
  void put(const std::string& name, const std::string& node, const std::string& team) {
    auto pod = make_pod(name, node, 1000);
    pod->priority = 5;
    pod->labels = {{symbols.intern("team"), symbols.intern(team)}};
    add_pod(pod);
  }
  const berth_preemption_v1& table() const { return plugin.service<berth_preemption_v1>("berth.preemption/1"); }
  /// A cycle of a pod that wants one CPU.
  berth_cycle_v1* begin_cycle() {
    cache.refresh(snapshot);
    auto pod = make_pod("incoming", "", 1000);
    pod->priority = 10;
    return begin(pod).abi(*profile.instances.back());
  }
  std::string show(const berth_cycle_v1* cycle, const berth_victim_v1& victim) {
    struct Seen {
      TeamFixture& self;
      std::string text;
    } seen{*this, ""};
    const berth_code code = table().show(
        plugin.host->ctx, cycle, &victim,
        [](void* arg, const berth_pod_v1* pod) {
          auto& s = *static_cast<Seen*>(arg);
          s.text = s.self.words(*pod);
        },
        &seen);
    return code == BERTH_OK ? seen.text : code == BERTH_NOT_FOUND ? "not found" : "odd code";
  }
  std::vector<berth_victim_v1> pods_on(const berth_cycle_v1* cycle, berth_slot node) {
    std::vector<berth_victim_v1> found;
    table().pods_on(
        plugin.host->ctx, cycle, node,
        [](void* arg, const berth_victim_v1* pod) -> std::uint32_t {
          static_cast<std::vector<berth_victim_v1>*>(arg)->push_back(*pod);
          return 1;
        },
        &found);
    return found;
  }
  /// A search in which pods of the team "batch" matter less than others.
  berth_code search(const berth_cycle_v1* cycle, std::uint32_t reserved = 0) {
    struct Judge {
      TeamFixture& self;
      const berth_cycle_v1* cycle;
    } judge{*this, cycle};
    static const berth_str k_criteria[] = {key("victims")};
    static const berth_preemption_policy_v1 k_policy{
        sizeof(berth_preemption_policy_v1), 1, k_criteria,
        [](void* arg, const berth_victim_v1* pods, std::uint32_t count, std::uint64_t* keys) {
          const auto& j = *static_cast<Judge*>(arg);
          for (std::uint32_t i = 0; i < count; ++i) {
            keys[2 * i] = j.self.show(j.cycle, pods[i]).ends_with(" batch") ? 2 : 1;
            keys[2 * i + 1] = 0;
          }
        },
        [](void*, const berth_victims_v1* nodes, std::uint32_t count, std::uint64_t* ranks) {
          for (std::uint32_t i = 0; i < count; ++i) {
            ranks[i] = 0;
            for (std::uint32_t v = 0; v < nodes[i].count; ++v) ranks[i] += nodes[i].evicted[v];
          }
        }};
    berth_preemption_request_v1 request{};
    request.struct_size = sizeof request;
    request.nodes = snapshot.nodes();
    request.word_count = snapshot.word_count();
    request.below_priority = 10;
    request.policy = &k_policy;
    request.reserved = reserved;
    berth_preemption_result_v1 result{};
    result.struct_size = sizeof result;
    return table().search(plugin.host->ctx, cycle, &request, &judge, &result, nullptr);
  }
  Words chosen(const berth_cycle_v1* cycle) {
    struct Seen {
      TeamFixture& self;
      Words words;
    } seen{*this, {}};
    table().chosen(
        plugin.host->ctx, cycle,
        [](void* arg, const berth_victim_v1* victim, const berth_pod_v1* pod) {
          auto& s = *static_cast<Seen*>(arg);
          s.words.push_back(s.self.words(*pod) + " on " + s.self.snapshot.row(victim->node).node->name);
        },
        &seen);
    return seen.words;
  }
  /// "namespace/name team" of a pod that is shown.
  std::string words(const berth_pod_v1& pod) const {
    std::string out(symbols.text(pod.ns));
    out += "/" + std::string(framework::from_abi(pod.name));
    for (std::uint32_t i = 0; i < pod.label_count; ++i) out += " " + std::string(symbols.text(pod.labels[i].value));
    return out;
  }

  Preemption service{objects, true, [](const framework::Projection&) { return DisruptionBudget(); }};
  FakePlugin& plugin = make_plugin("Teams");
};

TEST(PreemptionService, ShowsThePodThatAVictimIs) {
  TeamFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("a", "n1", "web");
  f.put("b", "n2", "batch");
  f.put("c", "n2", "web");
  const berth_cycle_v1* const cycle = f.begin_cycle();
  Words seen;
  for (const char* const node : {"n1", "n2"})
    for (const berth_victim_v1& pod : f.pods_on(cycle, f.snapshot.find(f.symbols.find(node))))
      seen.push_back(f.show(cycle, pod));
  EXPECT_EQ(seen, (Words{"default/a web", "default/b batch", "default/c web"}));
  berth_victim_v1 none{};
  none.node = f.snapshot.find(f.symbols.find("n2"));
  none.position = 2;
  EXPECT_EQ(f.show(cycle, none), "not found");
  none.node = 100'000;
  EXPECT_EQ(f.show(cycle, none), "not found");
}

TEST(PreemptionService, LetsAPolicyWeighAndReadVictimsByTheirLabels) {
  TeamFixture f;
  f.add_node("n1");
  for (const char* const name : {"a", "b", "c", "d"}) f.put(name, "n1", *name == 'b' ? "batch" : "web");
  const berth_cycle_v1* const cycle = f.begin_cycle();
  EXPECT_EQ(f.chosen(cycle), Words()) << "there was no search";
  EXPECT_EQ(f.search(cycle), static_cast<berth_code>(BERTH_OK));
  EXPECT_EQ(f.chosen(cycle), Words{"default/b batch on n1"});
  EXPECT_EQ(f.search(cycle, 1), static_cast<berth_code>(BERTH_BAD_ARGS)) << "a word that may get a meaning";
}

}  // namespace
}  // namespace berth::preemption
