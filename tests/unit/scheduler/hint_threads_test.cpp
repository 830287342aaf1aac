// SPDX-License-Identifier: Apache-2.0
#include "scheduler/hint_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "queue/scheduling_queue.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::scheduler {
namespace {

using namespace std::chrono_literals;
using Answer = HintThreads::Answer;
using Question = HintThreads::Question;

const model::ClusterEvent k_node_add{model::EventResource::node, model::actions::add, {}};

std::shared_ptr<model::Pod> make_pod(const std::string& name) {
  auto pod = std::make_shared<model::Pod>();
  pod->ns = "default";
  pod->name = name;
  pod->uid = "uid-" + name;
  pod->scheduler_name = "default-scheduler";
  return pod;
}

/// A hint that comes back when it is let go.
class Stuck {
 public:
  HintThreads::CallPlugin ask() {
    return [this](framework::HintCalls&, const Question& about, std::span<std::uint64_t> queue) {
      wait();
      const std::lock_guard lock(mutex_);
      names_ = about.pods.front()->name;  // still there, whatever has become of the pod
      queue[0] = 0;
      return true;
    };
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return may_leave_; });
  }
  bool is_inside(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return inside_ >= times; });
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    may_leave_ = true;
    changed_.notify_all();
  }
  std::string names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool may_leave_ = false;
  std::string names_;
};

class HintThreadsTest : public testing::Test {
 protected:
  HintThreadsTest() { open(1s); }
  ~HintThreadsTest() override { stuck.let_go(); }
  void open(std::chrono::nanoseconds patience) {
    HintThreadsOptions options;
    options.patience_ns = patience.count();
    options.watch = &calls;
    threads = std::make_shared<HintThreads>(clock, options);
    slow = threads->make_line("example.com/Rack");
    fast = threads->make_line("example.com/Gang");
  }
  Answer ask(const std::shared_ptr<HintThreads::Line>& line, HintThreads::CallPlugin how) {
    std::vector<const model::PodPtr*> asked;
    for (const model::PodPtr& pod : pods) asked.push_back(&pod);
    queue = 0;
    return threads->ask(line, std::make_shared<const HintThreads::CallPlugin>(std::move(how)),
                        queue::HintCall{k_node_add, objects, asked}, std::span(&queue, 1));
  }
  static HintThreads::CallPlugin says(std::uint64_t bits, bool good = true) {
    return [=](framework::HintCalls&, const Question&, std::span<std::uint64_t> queue) {
      queue[0] = bits;
      return good;
    };
  }
  /// A question that is not answered, until the patience is over.
  Answer ask_in_vain(std::chrono::nanoseconds patience) {
    std::future<Answer> answer = std::async(std::launch::async, [this] { return ask(slow, stuck.ask()); });
    EXPECT_TRUE(stuck.is_inside(++stuck_calls));
    clock.advance(patience - 1ms);
    EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout) << "it waits for as long as it may";
    clock.advance(2ms);
    return answer.get();
  }

  ManualClock clock;
  framework::OpenCalls calls{clock};
  Stuck stuck;
  int stuck_calls = 0;
  model::EventObjects objects;
  std::vector<model::PodPtr> pods{make_pod("a"), make_pod("b"), make_pod("c")};
  std::uint64_t queue = 0;
  std::shared_ptr<HintThreads::Line> slow, fast;
  std::shared_ptr<HintThreads> threads;
};

TEST_F(HintThreadsTest, AnswersAreThoseOfTheHint) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(ask(fast, says(0b101)), Answer::given);
    EXPECT_EQ(queue, 0b101U);
    EXPECT_EQ(ask(slow, says(0)), Answer::given);
    EXPECT_EQ(queue, 0U);
  }
  EXPECT_EQ(threads->threads(), 1U);
}

TEST_F(HintThreadsTest, AHintThatFailsQueuesAll) {
  EXPECT_EQ(ask(fast, says(0b001, false)), Answer::failed);
  EXPECT_EQ(queue, 0b111U);
  EXPECT_EQ(ask(fast,
                [](framework::HintCalls&, const Question&, std::span<std::uint64_t>) -> bool {
                  throw std::runtime_error("on purpose");
                }),
            Answer::failed);
  EXPECT_EQ(queue, 0b111U);
  EXPECT_EQ(ask(fast, says(0b010)), Answer::given);
}

TEST_F(HintThreadsTest, AHintThatDoesNotReturnQueuesAllAndHoldsUpNoOther) {
  EXPECT_EQ(ask_in_vain(1s), Answer::late);
  EXPECT_EQ(queue, 0b111U);
  EXPECT_EQ(ask(slow, says(0)), Answer::not_asked) << "it is not asked twice at once";
  EXPECT_EQ(queue, 0b111U);
  EXPECT_EQ(ask(fast, says(0b010)), Answer::given) << "others have a thread";
  EXPECT_EQ(queue, 0b010U);
  EXPECT_EQ(threads->threads(), 2U);
  // What it was asked about stays for it, whatever becomes of the pods.
  pods = {make_pod("d")};
  stuck.let_go();
  while (threads->threads() != 1) std::this_thread::yield();
  EXPECT_EQ(stuck.names(), "a");
  EXPECT_EQ(ask(slow, says(0)), Answer::given) << "it has returned";
  EXPECT_EQ(queue, 0U);
}

TEST_F(HintThreadsTest, AHintThatWasLateHasAShorterLimitUntilItAnswersInTime) {
  EXPECT_EQ(ask_in_vain(1s), Answer::late);
  stuck.let_go();
  while (threads->threads() != 0) std::this_thread::yield();
  Stuck again;
  const auto in_vain = [&](std::chrono::nanoseconds patience) {
    std::future<Answer> answer = std::async(std::launch::async, [&] { return ask(slow, again.ask()); });
    EXPECT_TRUE(again.is_inside(1));
    clock.advance(patience);
    return answer.get();
  };
  EXPECT_EQ(in_vain(250ms), Answer::late);
  again.let_go();
  while (threads->threads() != 0) std::this_thread::yield();
  // Twice as long again with each answer in time.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(slow, says(0)), Answer::given);
  Stuck once_more;
  std::future<Answer> answer = std::async(std::launch::async, [&] { return ask(slow, once_more.ask()); });
  EXPECT_TRUE(once_more.is_inside(1));
  clock.advance(999ms);
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  clock.advance(1ms);
  EXPECT_EQ(answer.get(), Answer::late);
  once_more.let_go();
  while (threads->threads() != 0) std::this_thread::yield();  // none is in `once_more` any more
}

/// A plugin whose filter, which answers for its hint, lets two pods pass at once and keeps the third.
class HintOfAPlugin : public HintThreadsTest {
 protected:
  HintOfAPlugin() {
    framework::testing::FakePlugin& plugin = f.make_plugin("example.com/Rack");
    plugin.filter = [this](const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&,
                           berth_note_v1*) -> berth_code {
      if (asked++ < 2) return BERTH_OK;
      stuck.wait();
      return BERTH_OK;
    };
    instance = &f.add(plugin);
    objects.new_node = f.make_node("n");
  }
  framework::testing::FrameworkFixture f;
  const framework::PluginInstance* instance = nullptr;
  std::atomic<int> asked{0};
};

TEST_F(HintOfAPlugin, IsListedAsAnOpenCallWithItsPod) {
  std::future<Answer> answer = std::async(std::launch::async, [this] {
    return ask(slow, [this](framework::HintCalls& how, const Question& about, std::span<std::uint64_t> out) {
      return how.ask_filter(f.profile, *instance, about.objects, about.pods, out.data());
    });
  });
  ASSERT_TRUE(stuck.is_inside(1));
  clock.advance(2s);
  EXPECT_EQ(answer.get(), Answer::late);
  pods.clear();
  const std::vector<framework::OpenCall> open = calls.all();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].point, "hint");
  EXPECT_EQ(open[0].plugin, "example.com/Rack");
  EXPECT_EQ(open[0].pod, "default/c");
  EXPECT_EQ(open[0].age_ns, 2'000'000'000);
  stuck.let_go();
  while (threads->threads() != 0) std::this_thread::yield();
  EXPECT_TRUE(calls.all().empty());
}

TEST_F(HintThreadsTest, WithoutALimitTheCallersThreadAsks) {
  HintThreads here(clock, {});
  const auto line = here.make_line("example.com/Rack");
  std::thread::id asked_on;
  std::vector<const model::PodPtr*> asked{&pods[0]};
  std::uint64_t bits = 0;
  const Answer answer = here.ask(line,
                                 std::make_shared<const HintThreads::CallPlugin>(
                                     [&](framework::HintCalls&, const Question&, std::span<std::uint64_t> out) {
                                       asked_on = std::this_thread::get_id();
                                       out[0] = 1;
                                       return true;
                                     }),
                                 queue::HintCall{k_node_add, objects, asked}, std::span(&bits, 1));
  EXPECT_EQ(answer, Answer::given);
  EXPECT_EQ(asked_on, std::this_thread::get_id());
  EXPECT_EQ(bits, 1U);
  EXPECT_EQ(here.threads(), 0U);
}

/// A queue whose hint hangs: what happens meanwhile.
class QueueOfAHangingHint : public HintThreadsTest, private queue::QueuePolicy {
 protected:
  QueueOfAHangingHint() {
    open(1s);
    queue::Registration registration;
    registration.registered = k_node_add;
    registration.plugin = k_rack_index;
    registration.hint = [this](const queue::HintCall& call, std::uint64_t* bits) {
      threads->ask(slow, std::make_shared<const HintThreads::CallPlugin>(stuck.ask()), call, std::span(bits, 1));
    };
    waiting.emplace(
        queue::QueueOptions{}, queue::HintTable({{"default-scheduler", {registration}}}),
        static_cast<queue::QueuePolicy&>(*this), [this](const model::Pod& pod) { return known.at(pod.name); }, clock);
  }
  queue::Ticket popped(const std::string& name) {
    known[name] = make_pod(name);
    waiting->add(known[name]);
    return std::move(*waiting->pop());
  }
  void reject(queue::Ticket ticket) {
    queue::Rejectors by_rack;
    by_rack.unschedulable.insert(k_rack_index);
    EXPECT_TRUE(waiting->requeue(std::move(ticket), by_rack, nullptr).ok());
  }
  std::string next() {
    const std::optional<queue::Ticket> ticket = waiting->pop();
    return ticket ? ticket->pod()->name : "";
  }

  static constexpr model::PluginIndex k_rack_index = 1;
  std::map<std::string, model::PodPtr> known;
  std::optional<queue::SchedulingQueue> waiting;

 private:
  bool ordered_by_key() const override { return true; }
  queue::OrderKey key(const model::QueuedPod& pod) override {
    return {{static_cast<std::uint64_t>(pod.enqueued_ns), 0, 0, 0}};
  }
  bool before(const model::QueuedPod&, const model::QueuedPod&) override { return false; }
  std::optional<queue::Gate> pre_enqueue(const model::QueuedPod&, model::PluginIndex) override { return std::nullopt; }
  std::uint64_t classify(const model::Pod&) override { return 0; }
};

TEST_F(QueueOfAHangingHint, GoesOnAndLosesNoEvent) {
  queue::Ticket waits = popped("waits"), in_flight = popped("in_flight");
  reject(std::move(waits));
  clock.advance(20s);  // its back-off is over
  EXPECT_EQ(next(), "") << "it waits for an event";
  std::thread event([this] { waiting->move_all(k_node_add, {}); });
  ASSERT_TRUE(stuck.is_inside(1));
  clock.advance(2s);
  event.join();
  // The hint still hangs. It counts as one that failed: the pod is tried again.
  EXPECT_EQ(threads->threads(), 1U);
  EXPECT_EQ(next(), "waits");
  // The pod in flight meets the event when its attempt fails; and others are decided.
  reject(std::move(in_flight));
  clock.advance(20s);
  EXPECT_EQ(next(), "in_flight");
  queue::Ticket other = popped("other");
  waiting->move_all(k_node_add, {});
  waiting->done(std::move(other));
  stuck.let_go();
}

TEST(HintThreadsEnd, DoesNotWaitForeverForAHint) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ManualClock clock;
        HintThreadsOptions options;
        options.patience_ns = 1;
        options.end_limit = 20ms;
        Stuck never;
        model::EventObjects objects;
        const model::PodPtr pod = make_pod("p");
        std::vector<const model::PodPtr*> asked{&pod};
        std::uint64_t bits = 0;
        HintThreads threads(clock, options);
        std::thread later([&clock, &never] {
          never.is_inside(1);
          clock.advance(1s);
        });
        threads.ask(threads.make_line("example.com/Rack"), std::make_shared<const HintThreads::CallPlugin>(never.ask()),
                    queue::HintCall{k_node_add, objects, asked}, std::span(&bits, 1));
        later.join();
      },
      testing::ExitedWithCode(1), "do not return");
}

}  // namespace
}  // namespace berth::scheduler
