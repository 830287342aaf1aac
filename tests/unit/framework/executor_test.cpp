// SPDX-License-Identifier: Apache-2.0
// "berth.executor/1": tasks with handles, and what becomes of them when their instance is destroyed.
#include <future>
#include <thread>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

/// Keeps what is posted, and runs it when the test says so.
struct KeptTasks final : TasksPort {
  struct Periodic {
    std::function<bool()> is_wanted;
    std::function<void()> task;
  };
  void submit(std::function<void()> task) override { posted.push_back(std::move(task)); }
  void every(std::int64_t, std::function<bool()> is_wanted, std::function<void()> task) override {
    periodic.push_back({std::move(is_wanted), std::move(task)});
  }
  void after(std::int64_t delay_ms, std::function<void()> task) override {
    delays_ms.push_back(delay_ms);
    posted.push_back(std::move(task));
  }
  void parallel_for(std::uint32_t, const std::function<void(std::uint32_t)>&) override {}
  void run_all() {
    for (auto& task : std::exchange(posted, {})) task();
    std::erase_if(periodic, [](const Periodic& each) { return !each.is_wanted(); });
    for (const Periodic& each : std::vector<Periodic>(periodic)) each.task();
  }
  std::vector<std::function<void()>> posted;
  std::vector<Periodic> periodic;
  std::vector<std::int64_t> delays_ms;
};

struct ExecutorFixture : FrameworkFixture {
  explicit ExecutorFixture(std::function<void(ExecutorFixture&)> at_create = {})
      : host_with_tasks{symbols,
                        snapshot,
                        cache.resources(),
                        cache.lists(),
                        objects,
                        names,
                        reasons,
                        metrics,
                        counters,
                        {clock, ports, ports, ports, ports, tasks},
                        [](cache::PodHandle) { return model::PodPtr(); },
                        "test"} {
    plugin.create = [this, at_create](const berth_binder_v1&, berth_note_v1*) -> berth_code {
      if (at_create) at_create(*this);
      return BERTH_OK;
    };
    auto made = PluginInstance::create({&plugin.describe(), "", "", {}, {}}, "", host_with_tasks, 0);
    EXPECT_TRUE(made.ok());
    instance = std::move(made).value();
  }
  const berth_executor_v1& executor() const { return plugin.service<berth_executor_v1>("berth.executor/1"); }
  void* ctx() const { return plugin.host->ctx; }
  std::uint64_t start(std::uint32_t delay_ms, std::uint32_t period_ms) {
    std::uint64_t handle = 0;
    EXPECT_EQ(executor().start(ctx(), delay_ms, period_ms, &count, &runs, &handle), static_cast<berth_code>(BERTH_OK));
    return handle;
  }
  static void count(void* arg) { ++*static_cast<int*>(arg); }

  KeptTasks tasks;
  int runs = 0;
  FakePlugin& plugin = make_plugin("example.com/Busy");
  Host host_with_tasks;
  std::unique_ptr<PluginInstance> instance;
};

TEST(Executor, RunsATaskOnceAndCancelsOneThatHasNotBegun) {
  ExecutorFixture f;
  const std::uint64_t first = f.start(50, 0), second = f.start(70, 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(f.tasks.delays_ms, (std::vector<std::int64_t>{50, 70}));
  EXPECT_EQ(f.executor().cancel(f.ctx(), second), static_cast<berth_code>(BERTH_OK));
  f.tasks.run_all();
  EXPECT_EQ(f.runs, 1);
  EXPECT_EQ(f.executor().cancel(f.ctx(), first), static_cast<berth_code>(BERTH_NOT_FOUND)) << "it has run";
  EXPECT_EQ(f.executor().cancel(f.ctx(), second), static_cast<berth_code>(BERTH_NOT_FOUND)) << "cancelled before";
  EXPECT_EQ(f.executor().cancel(f.ctx(), 12345), static_cast<berth_code>(BERTH_NOT_FOUND));
  EXPECT_EQ(f.executor().start(f.ctx(), 1, 0, nullptr, nullptr, nullptr), static_cast<berth_code>(BERTH_BAD_ARGS));
}

TEST(Executor, RepeatsATaskUntilItIsCancelled) {
  std::uint64_t handle = 0;
  ExecutorFixture f([&](ExecutorFixture& self) { handle = self.start(5, 10); });
  for (int i = 0; i < 3; ++i) f.tasks.run_all();
  EXPECT_EQ(f.runs, 4) << "at first, and at each turn: the first turn comes right after";
  EXPECT_EQ(f.executor().cancel(f.ctx(), handle), static_cast<berth_code>(BERTH_OK));
  f.tasks.run_all();
  EXPECT_EQ(f.runs, 4);
  EXPECT_TRUE(f.tasks.periodic.empty()) << "the timer ends with it";
}

TEST(Executor, NoTaskBeginsOnceTheInstanceIsDestroyed) {
  ExecutorFixture f;
  f.start(50, 0);
  EXPECT_EQ(f.executor().submit(f.ctx(), &ExecutorFixture::count, &f.runs), static_cast<berth_code>(BERTH_OK));
  f.instance.reset();
  f.tasks.run_all();
  EXPECT_EQ(f.runs, 0);
}

TEST(Executor, DestroyingAnInstanceWaitsForTheTaskThatRuns) {
  ExecutorFixture f;
  struct Meeting {
    std::promise<void> begun, go_on;
    std::atomic<bool> ended{false};
  } meeting;
  const auto task = [](void* arg) {
    auto& m = *static_cast<Meeting*>(arg);
    m.begun.set_value();
    m.go_on.get_future().wait();
    m.ended = true;
  };
  ASSERT_EQ(f.executor().submit(f.ctx(), task, &meeting), static_cast<berth_code>(BERTH_OK));
  std::thread worker(std::move(f.tasks.posted.front()));
  meeting.begun.get_future().wait();
  const std::shared_ptr<InstanceTasks> tasks = f.instance->tasks();
  std::atomic<bool> is_gone{false};
  std::thread destroyer([&] {
    f.instance.reset();
    EXPECT_TRUE(meeting.ended) << "it was destroyed under its task";
    is_gone = true;
  });
  // The task goes on once the instance takes no more of them: from there on destroying it is waiting, or over.
  for (std::uint64_t handle = 1; handle != 0 && !is_gone;) {
    handle = tasks->add(false);
    tasks->cancel(handle);
    std::this_thread::yield();
  }
  EXPECT_FALSE(is_gone) << "it did not wait";
  meeting.go_on.set_value();
  destroyer.join();
  worker.join();
}

}  // namespace
}  // namespace berth::framework::testing
