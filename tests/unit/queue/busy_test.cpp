// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <mutex>
#include <thread>

#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

/// A queue whose hint comes back when it is told to.
class BusyQueue : public ::testing::Test {
 protected:
  BusyQueue() {
    const auto hint = [this](const HintCall&, std::uint64_t*) {
      std::unique_lock lock(mutex);
      is_inside = true;
      changed.notify_all();
      changed.wait(lock, [this] { return may_leave; });
    };
    ProfileHints profile{"default-scheduler", {on(EventResource::node, actions::add, k_affinity, hint)}};
    queue.emplace(
        QueueOptions{}, HintTable({profile}), policy, [this](const model::Pod& pod) { return pods.at(pod.name); },
        clock);
  }
  Ticket popped(const std::string& name) {
    pods[name] = make_pod(name);
    queue->add(pods[name]);
    return std::move(*queue->pop());
  }
  /// A hint that does not come back, on a thread of its own.
  void ask() {
    asking = std::thread([this] { queue->move_all(k_node_add, {}); });
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_inside; });
  }
  void let_go() {
    {
      const std::lock_guard lock(mutex);
      may_leave = true;
      changed.notify_all();
    }
    asking.join();
  }

  ManualClock clock;
  FakePolicy policy;
  std::map<std::string, PodPtr> pods;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_inside = false, may_leave = false;
  std::thread asking;
  std::optional<SchedulingQueue> queue;
};

TEST_F(BusyQueue, DoesNotHoldUpBindings) {
  Ticket waits = popped("waits"), binding = popped("binding");
  ASSERT_TRUE(queue->requeue(std::move(waits), rejected_by({k_affinity}), pods["waits"]).ok());
  const QueueSizes before = queue->sizes();
  ask();
  queue->close_log(binding);  // these would wait for ever
  queue->done(std::move(binding));
  EXPECT_EQ(queue->sizes().unschedulable, before.unschedulable) << "a report does not wait either";
  let_go();
  // The deferred call is applied by the next one: the pod is no longer in flight.
  pods["binding"] = make_pod("binding");
  queue->add(pods["binding"]);
  const std::optional<Ticket> again = queue->pop();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pod()->name, "binding");
}

}  // namespace
}  // namespace berth::queue::testing
