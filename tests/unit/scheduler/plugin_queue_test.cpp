// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugin_queue.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "../queue/queue_fixture.hpp"

namespace berth::scheduler {
namespace {

using queue::testing::QueueFixture;
using Presence = Late<PluginQueue::Target>::Presence;

/// Runs what is posted when told to.
struct LateExecutor final : binding::Executor {
  void post(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  std::vector<std::function<void()>> tasks;
};

PluginQueue::Target target(QueueFixture& f) { return {*f.queue, *f.queue}; }

TEST(PluginQueue, KeepsRequestsUntilTheQueueIsThere) {
  QueueFixture f;
  f.add("p");
  f.fail("p", queue::testing::rejected_by({queue::testing::k_fit}));
  LateExecutor executor;
  PluginQueue plugin_queue(&executor);
  plugin_queue.activate("uid-p");
  EXPECT_TRUE(executor.tasks.empty()) << "there is nothing to apply it to";
  plugin_queue.apply();
  EXPECT_EQ(f.place("p"), queue::Place::unschedulable);
  const Presence presence(plugin_queue.target(), target(f));
  plugin_queue.apply();
  EXPECT_EQ(f.place("p"), queue::Place::active);
}

TEST(PluginQueue, AppliesRequestsOnTheExecutorInOneTask) {
  QueueFixture f;
  for (const char* name : {"p", "q"}) {
    f.add(name);
    f.fail(name, queue::testing::rejected_by({queue::testing::k_fit}));
  }
  LateExecutor executor;
  PluginQueue plugin_queue(&executor);
  const Presence presence(plugin_queue.target(), target(f));
  plugin_queue.activate("uid-p");
  plugin_queue.activate("uid-q");
  ASSERT_EQ(executor.tasks.size(), 1U);
  EXPECT_EQ(f.place("p"), queue::Place::unschedulable) << "the caller may hold the queue's lock";
  executor.tasks.front()();
  EXPECT_EQ(f.place("p"), queue::Place::active);
  EXPECT_EQ(f.place("q"), queue::Place::active);
  plugin_queue.activate("uid-p");
  EXPECT_EQ(executor.tasks.size(), 2U) << "the task before has run";
}

TEST(PluginQueue, HasNoNominationsBeforeAndAfterTheQueue) {
  QueueFixture f;
  auto pod = queue::testing::make_pod("p");
  pod->nominated_node = 7;
  f.add(pod);
  PluginQueue plugin_queue(nullptr);
  EXPECT_TRUE(plugin_queue.nominated().empty());
  {
    const Presence presence(plugin_queue.target(), target(f));
    ASSERT_EQ(plugin_queue.nominated().size(), 1U);
    EXPECT_EQ(plugin_queue.nominated().front().node, Symbol{7});
  }
  EXPECT_TRUE(plugin_queue.nominated().empty());
}

TEST(PluginQueue, TellsWaitingPodsOfObjectsThatWereWritten) {
  QueueFixture f;
  PluginQueue plugin_queue(nullptr);
  auto claim = std::make_shared<model::Object>();
  claim->resource = "resource.k8s.io/v1/resourceclaims";
  plugin_queue.object_written(claim);  // nothing waits
  for (const auto& [name, plugin] : {std::pair{"p", queue::testing::k_claims}, {"q", queue::testing::k_deaf}}) {
    f.add(name);
    f.fail(name, queue::testing::rejected_by({plugin}));
  }
  plugin_queue.object_written(claim);
  EXPECT_EQ(f.place("p"), queue::Place::unschedulable) << "the queue is not there yet";
  const Presence presence(plugin_queue.target(), target(f));
  plugin_queue.object_written(claim);
  EXPECT_NE(f.place("p"), queue::Place::unschedulable) << "its plugin waits for claims that change";
  EXPECT_EQ(f.place("q"), queue::Place::unschedulable) << "no plugin that rejected it waits for any";
}

TEST(Late, EndsAfterTheLastCallHasReturned) {
  Late<int> late;
  EXPECT_FALSE(late.with([](int) { FAIL() << "it is not there"; }));
  std::optional<Late<int>::Presence> presence;
  presence.emplace(late, 1);
  std::atomic<bool> is_inside{false}, may_go{false}, has_gone{false};
  std::thread caller([&] {
    late.with([&](int) {
      is_inside = true;
      is_inside.notify_one();
      may_go.wait(false);
      has_gone = true;
    });
  });
  is_inside.wait(false);
  std::thread ender([&] {
    presence.reset();
    EXPECT_TRUE(has_gone) << "the call was still inside";
  });
  while (late.with([](int) {})) std::this_thread::yield();  // it is not there any more for others
  may_go = true;
  may_go.notify_one();
  caller.join();
  ender.join();
}

}  // namespace
}  // namespace berth::scheduler
