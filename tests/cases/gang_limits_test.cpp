// SPDX-License-Identifier: Apache-2.0
// Gangs whose plan takes long, through the whole scheduler.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "app/live/cycle_clock.hpp"
#include "app/simulate/simulation.hpp"
#include "cases/put_json.hpp"
#include "config/resolve.hpp"
#include "text/diagnostics.hpp"

namespace berth::cases {
namespace {

constexpr std::string_view k_group_label = "scheduling.x-k8s.io/pod-group";
constexpr auto k_second = std::chrono::seconds(1);

/// One node, and pods that are decided about one decision at a time.
class SlowGang {
 public:
  SlowGang()
      : plugins_(app::load_plugins(raw(), BERTH_BINARY_DIR "/plugins")),
        configuration_(config::resolve(raw(), plugins_.catalog(), config::AbsentPlugins::embedded(), problems_)) {
    EXPECT_TRUE(problems_.empty()) << problems_.render();
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000'000;
    simulation = app::Simulation::make(symbols_, configuration_, plugins_, options).value();
    put(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
            "status":{"allocatable":{"cpu":"100","memory":"100Gi","pods":"110"}}})");
  }
  void gang(std::string_view name, int members) {
    put(fmt::format(R"({{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{{"name":"{}",
      "namespace":"default","creationTimestamp":"1970-01-01T00:00:10Z"}},"spec":{{"minMember":{}}}}})",
                    name, members));
    for (int i = 0; i < members; ++i) pod(fmt::format("{}-{}", name, i), name);
  }
  void pod(const std::string& name, std::string_view group = {}) {
    const std::string labels = group.empty() ? "" : fmt::format(R"("{}":"{}")", k_group_label, group);
    put(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","uid":"uid-{}",
      "creationTimestamp":"1970-01-01T00:00:20Z","labels":{{{}}}}},
      "spec":{{"schedulerName":"default-scheduler","containers":[{{"name":"c","image":"i"}}]}}}})",
                    name, name, labels));
  }
  /// Decides once, and lets each member of a gang take so long; false: there is nothing to decide.
  bool decide(std::chrono::nanoseconds each_member = {}) {
    simulation->cluster().deliver();
    simulation->scheduler().decision_parts().queue.flush();
    scheduler::Scheduler::Watch watch;
    watch.before = told.before;
    watch.after = [&](const model::PodPtr& pod, const cycle::Outcome& outcome) {
      if (told.after) told.after(pod, outcome);
      const auto* const rejection = std::get_if<cycle::Rejection>(&outcome);
      said.push_back(pod->name + ": " + (rejection != nullptr ? rejection->full_message() : "has a node"));
    };
    watch.comes_to = [&](const model::PodPtr& member) {
      turns.push_back(member->name);
      if (told.comes_to) told.comes_to(member);
      simulation->clock().advance(each_member);
      if (after_turn) after_turn();
    };
    return simulation->scheduler().schedule_one(watch);
  }
  bool is_bound(std::string_view name) {
    simulation->cluster().deliver();
    return simulation->cluster().find_pod("default", name)->node_name != k_no_symbol;
  }

 private:
  static config::RawConfiguration raw() {
    text::Diagnostics problems;
    return config::load(
        R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{
          "schedulerName":"default-scheduler","plugins":{
            "multiPoint":{"enabled":[{"name":"Coscheduling"}]},
            "queueSort":{"enabled":[{"name":"Coscheduling"}],"disabled":[{"name":"*"}]}}}]})",
        "gangs", problems);
  }
  void put(const std::string& json) { put_json(*simulation, symbols_, watched_by(*simulation), json); }

  SymbolTable symbols_;  // outlives the simulation
  text::Diagnostics problems_;
  app::PluginLibrary plugins_;
  config::Configuration configuration_;

 public:
  std::unique_ptr<app::Simulation> simulation;
  std::vector<std::string> said, turns;
  std::function<void()> after_turn;
  scheduler::Scheduler::Watch told;  // of each decision as well
};

TEST(GangLimits, AGangThatTakesTooLongLetsOtherPodsGoFirst) {
  SlowGang f;
  f.gang("slow", 40);
  f.pod("other");
  ASSERT_TRUE(f.decide(k_second));
  ASSERT_EQ(f.said.size(), 40u);
  EXPECT_EQ(f.said.front(),
            "slow-0: pod group default/slow: there was no plan after 30 s: 30 of 40 members had a node");
  EXPECT_EQ(f.turns.size(), 30u + 30u) << "nodes that members got, and gave back";
  EXPECT_EQ(f.simulation->scheduler().views().cache.counts().assumed_pods, 0u);
  ASSERT_TRUE(f.decide());
  EXPECT_EQ(f.said.back(), "other: has a node");
  EXPECT_FALSE(f.decide()) << "the gang waits, although the time for its backoff is over";

  f.pod("slow-40", "slow");
  ASSERT_TRUE(f.decide()) << "until something about it changes";
  EXPECT_TRUE(f.is_bound("slow-0"));
  EXPECT_TRUE(f.is_bound("slow-40"));
}

TEST(GangLimits, TheWatchForStandstillTakesEachMemberForProgress) {
  SlowGang f;
  app::CycleClock clock(f.simulation->clock());
  f.told = app::watched_by(clock);
  f.gang("slow", 8);
  std::int64_t longest_ns = 0;
  f.after_turn = [&] { longest_ns = std::max(longest_ns, clock.age_ns()); };
  ASSERT_TRUE(f.decide(3 * k_second));
  EXPECT_EQ(longest_ns, 3'000'000'000) << "a member took that long, the plan 8 times as long";
  EXPECT_EQ(clock.age_ns(), 0);
  EXPECT_TRUE(f.is_bound("slow-7"));
}

TEST(GangLimits, APlanIsGivenUpWhenTheProcessEnds) {
  SlowGang f;
  f.gang("gang", 5);
  f.after_turn = [&] {
    if (f.turns.size() == 2) f.simulation->scheduler().stop_deciding();
  };
  ASSERT_TRUE(f.decide());
  EXPECT_EQ(f.turns, (std::vector<std::string>{"gang-0", "gang-1", "gang-1", "gang-0"})) << "two nodes given back";
  EXPECT_EQ(f.simulation->scheduler().views().cache.counts().assumed_pods, 0u);
  f.simulation->cluster().deliver();
  EXPECT_TRUE(f.simulation->cluster().writes().empty()) << "nothing is said about its pods";
}

}  // namespace
}  // namespace berth::cases
