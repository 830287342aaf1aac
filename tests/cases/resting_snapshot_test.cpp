// SPDX-License-Identifier: Apache-2.0
// Who may bring a snapshot up to date while a page reads it.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <cstddef>
#include <string>
#include <thread>

#include "app/simulate/simulation.hpp"
#include "cases/put_json.hpp"
#include "config/resolve.hpp"

namespace berth::cases {
namespace {

constexpr std::size_t k_pods = cache::ClusterCache::k_removals_at_rest + 10;

class RestingSnapshot : public testing::Test {
 protected:
  RestingSnapshot()
      : plugins_(app::load_plugins(config::load_defaults(), BERTH_BINARY_DIR "/plugins")),
        configuration_(config::resolve(config::load_defaults(), plugins_.catalog(), config::AbsentPlugins::embedded(),
                                       problems_)) {
    EXPECT_TRUE(problems_.empty()) << problems_.render();
    simulation_ = app::Simulation::make(symbols_, configuration_, plugins_, {}).value();
    put(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
            "status":{"allocatable":{"cpu":"100","memory":"100Gi","pods":"500"}}})");
    for (std::size_t i = 0; i < k_pods; ++i)
      put(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{}","namespace":"default","uid":"u{}"}},
                          "spec":{{"nodeName":"n1","containers":[{{"name":"c","image":"i"}}]}}}})",
                      i, i));
    simulation_->take_in();
  }
  void put(const std::string& json) { put_json(*simulation_, symbols_, watched_by(*simulation_), json); }
  void remove_all_pods() {
    for (std::size_t i = 0; i < k_pods; ++i) simulation_->cluster().remove_pod("default", fmt::format("p{}", i));
    simulation_->take_in();
  }
  static std::size_t pods_in(const cache::Snapshot& snapshot) {
    return snapshot.row(snapshot.order().front()).pods.size();
  }

  SymbolTable symbols_;  // outlives the simulation
  text::Diagnostics problems_;
  app::PluginLibrary plugins_;
  config::Configuration configuration_;
  std::unique_ptr<app::Simulation> simulation_;
};

TEST_F(RestingSnapshot, IsBroughtUpToDateByWhoRemovesPods) {
  scheduler::ManualScheduler& scheduler = simulation_->scheduler();
  scheduler.inspect([](const cache::Snapshot& snapshot) { EXPECT_EQ(pods_in(snapshot), k_pods); });
  remove_all_pods();
  EXPECT_LT(pods_in(scheduler.decision_parts().snapshot), k_pods) << "a snapshot at rest does not keep what is gone";
}

TEST_F(RestingSnapshot, StaysAsItIsWhileItIsReadAlthoughTheLoopHasNothingToDo) {
  scheduler::ManualScheduler& scheduler = simulation_->scheduler();
  scheduler.stop_deciding();  // the loop's turns end at once
  scheduler.inspect([&](const cache::Snapshot& snapshot) {
    std::thread([&] { EXPECT_FALSE(scheduler.schedule_next({})); }).join();
    remove_all_pods();
    EXPECT_EQ(pods_in(snapshot), k_pods);
  });
}

}  // namespace
}  // namespace berth::cases
