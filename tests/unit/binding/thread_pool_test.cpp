// SPDX-License-Identifier: Apache-2.0
#include "binding/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "framework/open_calls.hpp"

namespace berth::binding::testing {
namespace {

using namespace std::chrono_literals;

/// Holds threads until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  bool wait_for(int inside) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return inside_ >= inside; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

/// Whatever a test expects in vain, its pool comes to its end.
struct OpenAtEnd {
  Gate& gate;
  ~OpenAtEnd() { gate.open(); }
};

ThreadPoolOptions growing(std::size_t usual, std::size_t most) { return {usual, most, 1ms, nullptr, 10s}; }

TEST(ThreadPool, TasksThatDoNotReturnDoNotStopOthers) {
  Gate stuck, others;
  ThreadPool pool(growing(4, 16));
  const OpenAtEnd end{stuck};
  for (int i = 0; i < 6; ++i) pool.post([&] { stuck.pass(); });
  ASSERT_TRUE(stuck.wait_for(6)) << "more threads than usual";
  pool.post([&] { others.pass(); });
  EXPECT_TRUE(others.wait_for(1));
  EXPECT_GE(pool.counts().threads, 7U);
  others.open();
  stuck.open();
}

TEST(ThreadPool, ThreadsAreBounded) {
  Gate stuck;
  ThreadPool pool(growing(1, 3));
  const OpenAtEnd end{stuck};
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) pool.post([&] { stuck.pass(); });
  ASSERT_TRUE(stuck.wait_for(3));
  pool.post([&] { ++ran; });
  // A task that waits is counted as waiting.
  while (pool.counts().waited < 20ms) std::this_thread::yield();
  EXPECT_EQ(pool.counts().threads, 3U);
  EXPECT_EQ(pool.counts().waiting, 1U);
  EXPECT_EQ(ran, 0);
  stuck.open();
  while (ran == 0) std::this_thread::yield();
  EXPECT_EQ(pool.counts().waited, 0ns);
}

TEST(ThreadPool, ThreadsBeyondTheUsualOnesEnd) {
  Gate stuck;
  ThreadPool pool(growing(1, 8));
  const OpenAtEnd end{stuck};
  for (int i = 0; i < 5; ++i) pool.post([&] { stuck.pass(); });
  ASSERT_TRUE(stuck.wait_for(5));
  stuck.open();
  while (pool.counts().threads > 1) std::this_thread::yield();
  Gate next;
  next.open();
  pool.post([&] { next.pass(); });
  EXPECT_TRUE(next.wait_for(1));
}

TEST(ThreadPool, RunsWhatWasPostedBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(2);
    for (int i = 0; i < 1000; ++i) pool.post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1000);
}

TEST(ThreadPool, DoesNotWaitForeverForATaskAtItsEnd) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Gate never;
        ThreadPoolOptions options = growing(1, 1);
        options.end_limit = 20ms;
        ThreadPool pool(options);
        pool.post([&] { never.pass(); });
        pool.post([] {});
        never.wait_for(1);
      },
      ::testing::ExitedWithCode(1), "do not return.*threads=1 waiting=1 limitMs=20");
}

TEST(ThreadPool, AnExceptionEndsNoThread) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(1);
    pool.post([] { throw std::runtime_error("on purpose"); });
    pool.post([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1);
}

const observe::CrumbOwner k_rack{"example.com/Rack", "1.0", nullptr, nullptr};
const observe::CrumbOwner k_gang{"example.com/Gang", "1.0", nullptr, nullptr};

TEST(OpenCalls, AreNamedByPointPluginAndPod) {
  ManualClock clock;
  framework::OpenCalls calls(clock);
  EXPECT_TRUE(calls.all().empty());
  auto pod = std::make_shared<model::Pod>();
  pod->ns = "default";
  pod->name = "p";
  {
    const framework::OpenCalls::Scope scope(&calls, pod);
    EXPECT_TRUE(calls.all().empty()) << "no plugin is called yet";
    observe::enter_plugin(k_rack, observe::Point::pre_bind);
    clock.advance(5s);
    const std::vector<framework::OpenCall> open = calls.all();
    ASSERT_EQ(open.size(), 1U);
    EXPECT_EQ(open[0].point, "pre_bind");
    EXPECT_EQ(open[0].plugin, "example.com/Rack");
    EXPECT_EQ(open[0].pod, "default/p");
    EXPECT_EQ(open[0].age_ns, 5'000'000'000);
    observe::leave_plugin();
    EXPECT_TRUE(calls.all().empty()) << "it has returned";
  }
}

TEST(OpenCalls, AreNamedByTheInnerScope) {
  ManualClock clock;
  framework::OpenCalls calls(clock);
  const framework::OpenCalls::Scope outer(&calls);
  clock.advance(1s);
  const framework::OpenCalls::Scope inner(&calls, nullptr, "hint");
  observe::enter_plugin(k_rack, observe::Point::filter);
  clock.advance(1s);
  ASSERT_EQ(calls.all().size(), 1U);
  EXPECT_EQ(calls.all()[0].point, "hint");
  EXPECT_EQ(calls.all()[0].age_ns, 1'000'000'000);
  observe::leave_plugin();
}

TEST(OpenCalls, TheOldestComesFirst) {
  ManualClock clock;
  framework::OpenCalls calls(clock);
  Gate stuck, gone;
  {
    ThreadPool pool({2, 2, 1ms, &calls, 10s});
    const OpenAtEnd end{stuck};
    pool.post([&] {
      observe::enter_plugin(k_gang, observe::Point::bind);
      stuck.pass();
      observe::leave_plugin();
    });
    ASSERT_TRUE(stuck.wait_for(1));
    clock.advance(3s);
    pool.post([&] {
      observe::enter_plugin(k_rack, observe::Point::pre_bind);
      stuck.pass();
      observe::leave_plugin();
    });
    ASSERT_TRUE(stuck.wait_for(2));
    clock.advance(1s);
    const std::vector<framework::OpenCall> all = calls.all();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].plugin, "example.com/Gang");
    EXPECT_EQ(all[0].age_ns, 4'000'000'000);
    EXPECT_EQ(all[1].plugin, "example.com/Rack");
    stuck.open();
  }
  EXPECT_TRUE(calls.all().empty());
}

}  // namespace
}  // namespace berth::binding::testing
