// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/allocation_count.hpp"
#include "bench/decision_run.hpp"
#include "cache/pod_groups.hpp"

namespace berth::bench {
namespace {

/// What a cycle allocates once its buffers have grown and every node has a few pods.
std::uint32_t allocations_of(const std::string& workload_file, config::VerdictReuse reuse) {
  SymbolTable symbols;
  auto workload = read_workload(BERTH_SOURCE_DIR "/tests/bench/workloads/" + workload_file, symbols);
  EXPECT_TRUE(workload) << workload.error().message;
  const std::size_t pods = 4 * workload->nodes.size();
  workload->pods.resize(pods);
  workload->class_of_pod.resize(pods);
  const app::PluginLibrary plugins = linked_policies();
  const DecisionRun run = run_decisions(*workload, symbols, default_configuration(plugins, reuse), plugins);
  EXPECT_EQ(run.placed(), pods);
  return run.typical_allocations();
}

TEST(Allocations, OfACycleDoNotDependOnTheNumberOfNodes) {
  for (const auto reuse : {config::VerdictReuse::on, config::VerdictReuse::off}) {
    const std::uint32_t few = allocations_of("plain-100.yaml", reuse);
    EXPECT_EQ(allocations_of("plain-5000.yaml", reuse), few)
        << (reuse == config::VerdictReuse::on ? "reuse" : "no reuse");
    EXPECT_GT(few, 0u) << "the count must see the cycle";
  }
}

TEST(Allocations, OfGroupsAreNoneForPodsThatAreInNone) {
  cache::PodGroups groups;
  const auto pod = [](const char* name, const char* uid) {
    auto made = std::make_shared<model::Pod>();
    made->name = name;
    made->uid = uid;
    return made;
  };
  groups.put(pod("member", "3b51b7c0-9d57-4f0c-8a3e-5d1f0a7c2b11"), "g");
  const auto plain = pod("plain", "7c0d2a3e-1f4b-4c58-9a6d-2e8f01b3c4d5");
  const std::uint64_t before = allocation_count();
  groups.put(plain, {});
  groups.remove(*plain);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(groups.group_count(), 1u);
}

}  // namespace
}  // namespace berth::bench
