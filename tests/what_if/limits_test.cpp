// SPDX-License-Identifier: Apache-2.0
// What bounds the simulations that others than the command line ask for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/simulate/policy_run.hpp"

namespace berth::app {
namespace {

class ChangeLimits : public ::testing::Test {
 protected:
  ChangeLimits() : file_(::testing::TempDir() + "change-limits.yaml") {
    std::ofstream(file_) << R"(---
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, ownerReferences: [{apiVersion: apps/v1,
  kind: ReplicaSet, name: web, uid: u, controller: true}]}, spec: {containers: [{name: c}]}}
)";
    options_.cluster = {file_};
    options_.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
  }
  ~ChangeLimits() override { std::filesystem::remove(file_); }

  /// What it says when it fails; empty: it does not.
  std::string run() const {
    std::ostringstream err;
    PolicyRun run(options_, err);
    const app::RunStatus done = run.run();
    return done.ok() ? "" : done.error().lines;
  }

  const std::string file_;
  PolicyRun::Options options_;
};

TEST_F(ChangeLimits, HoldForAllChangesTogether) {
  options_.added_max = 5;
  options_.changes = *changes_of({{"--add-nodes", "3"}, {"--like", "a"}, {"--scale", "shop/ReplicaSet/web=3"}});
  EXPECT_EQ(run(), "");
  options_.changes = *changes_of({{"--add-nodes", "3"}, {"--like", "a"}, {"--scale", "shop/ReplicaSet/web=4"}});
  EXPECT_NE(run().find("3 more nodes or pods are too many: 2 are left"), std::string::npos) << run();
  options_.changes = *changes_of({{"--add-nodes", "6"}, {"--like", "a"}});
  EXPECT_NE(run().find("5 are left"), std::string::npos) << run();
}

TEST_F(ChangeLimits, EndASimulationThatTakesTooLong) {
  options_.decide_until = std::chrono::steady_clock::now();
  EXPECT_NE(run().find("it takes too long"), std::string::npos) << run();
  options_.decide_until = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_EQ(run(), "");
}

TEST_F(ChangeLimits, ChangesAreReadAsTheCommandLineReadsThem) {
  EXPECT_FALSE(changes_of({{"--add-nodes", "3"}}).ok());
  EXPECT_FALSE(changes_of({{"--add-nodes", "3"}, {"--drain", "a"}, {"--like", "a"}}).ok());
  EXPECT_FALSE(changes_of({{"--like", "a"}}).ok());
  EXPECT_FALSE(changes_of({{"--cluster", "a"}}).ok());
  const auto changes = changes_of({{"--drain", "a"}, {"--add-nodes", "3"}, {"--like", "a"}});
  ASSERT_TRUE(changes.ok());
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ(changes->back().option(), "--add-nodes 3 --like a");
}

}  // namespace
}  // namespace berth::app
