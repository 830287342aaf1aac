// SPDX-License-Identifier: Apache-2.0
#include "cluster/binding_gate.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "cluster/cluster_writer.hpp"

namespace berth::tests {
namespace {

using namespace cluster;
using namespace std::chrono_literals;

/// A gate with one node, n1 of uid 1, whose timers run when time is moved.
struct Gate {
  explicit Gate(bool in_step = true) {
    gate->node_present("n1", "1");
    gate->watch_in_step(in_step);
  }
  void advance(std::chrono::nanoseconds duration) {
    clock.advance(duration);
    std::vector<std::pair<std::int64_t, std::function<void()>>> all = std::exchange(timers, {});
    for (auto& [due_ns, task] : all) {
      if (due_ns <= clock.monotonic_ns())
        task();
      else
        timers.emplace_back(due_ns, std::move(task));
    }
  }
  void wait(const std::string& name, std::int64_t until_ns) {
    gate->when_in_step(until_ns, [this, name](const Status& status) {
      told.push_back(name + " " + (status.ok() ? "goes" : std::string(error_name(status.error().code))));
    });
  }
  std::string answer(const PlacedNode& node) {
    const Status status = gate->admit(node);
    return status.ok() ? "yes" : std::string(error_name(status.error().code));
  }

  ManualClock clock;
  std::vector<std::pair<std::int64_t, std::function<void()>>> timers;
  std::shared_ptr<BindingGate> gate = std::make_shared<BindingGate>(
      clock, BindingGateOptions{.after = [this](std::int64_t delay_ns, std::function<void()> task) {
        timers.emplace_back(clock.monotonic_ns() + delay_ns, std::move(task));
      }});
  std::vector<std::string> told;
};
using Told = std::vector<std::string>;

TEST(BindingGate, LetsABindingPassToTheNodeThatWasMeant) {
  Gate g;
  EXPECT_EQ(g.answer({"n1", "1"}), "yes");
  EXPECT_EQ(g.answer({"n1"}), "yes") << "no uid is known: any node of that name";
}

TEST(BindingGate, WithholdsABindingToANodeThatIsGone) {
  Gate g;
  g.gate->node_absent("n1", "another");
  EXPECT_EQ(g.answer({"n1", "1"}), "yes") << "that was about the node before it";
  g.gate->node_absent("n1", "1");
  const Status status = g.gate->admit({"n1", "1"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the binding was not sent: node \"n1\" was deleted after the decision");
  EXPECT_EQ(g.gate->withheld(WithheldReason::node_gone), 1U);
}

TEST(BindingGate, WithholdsABindingToANodeThatWasReplaced) {
  Gate g;
  g.gate->node_absent("n1", "");
  g.gate->node_present("n1", "2");
  EXPECT_EQ(g.answer({"n1", "1"}), "withheld");
  EXPECT_EQ(g.gate->withheld(WithheldReason::node_replaced), 1U);
  EXPECT_EQ(g.answer({"n1", "2"}), "yes");
}

TEST(BindingGate, KnowsWhichBindingsAreTheDecisionsOfThisHost) {
  Gate g;
  g.gate->placed("uid-p", {"n1", "1"});
  ASSERT_TRUE(g.gate->node_of("uid-p", "n1"));
  EXPECT_EQ(g.gate->node_of("uid-p", "n1")->uid, "1");
  EXPECT_FALSE(g.gate->node_of("uid-p", "n2"));
  EXPECT_FALSE(g.gate->node_of("uid-q", "n1"));
  g.gate->ended("uid-p");
  EXPECT_FALSE(g.gate->node_of("uid-p", "n1"));
}

TEST(BindingGate, BindingsWaitWhileTheWatchIsDownAndGoWhenItIsInStep) {
  Gate g(false);
  EXPECT_EQ(g.answer({"n1", "1"}), "nodes_unknown");
  g.wait("a", g.gate->wait_end_ns());
  g.wait("b", g.gate->wait_end_ns());
  g.advance(9s);
  EXPECT_EQ(g.told, Told());
  EXPECT_EQ(g.gate->waiting(), 2U);
  g.gate->watch_in_step(true);
  EXPECT_EQ(g.told, (Told{"a goes", "b goes"}));
  g.advance(10s);
  EXPECT_EQ(g.told.size(), 2U) << "once each";
  g.wait("c", g.gate->wait_end_ns());
  EXPECT_EQ(g.told.back(), "c goes") << "there is nothing to wait for";
  EXPECT_EQ(g.gate->withheld(WithheldReason::watch_down), 0U);
}

TEST(BindingGate, ABindingToANodeThatIsGoneIsWithheldAtOnce) {
  Gate g(false);
  g.gate->node_absent("n1", "1");
  EXPECT_EQ(g.answer({"n1", "1"}), "withheld");
}

TEST(BindingGate, AWaitEndsInTime) {
  Gate g(false);
  g.wait("a", g.gate->wait_end_ns());
  g.advance(4s);
  g.wait("b", g.gate->wait_end_ns());
  g.advance(6s);
  EXPECT_EQ(g.told, Told{"a withheld"});
  g.advance(4s);
  EXPECT_EQ(g.told, (Told{"a withheld", "b withheld"}));
  EXPECT_EQ(g.gate->withheld(WithheldReason::watch_down), 2U);
  EXPECT_TRUE(g.timers.empty());
}

TEST(BindingGate, AWaitThatIsContinuedKeepsItsFirstDeadline) {
  Gate g(false);
  const std::int64_t end_ns = g.gate->wait_end_ns();
  g.advance(8s);
  g.wait("new", g.gate->wait_end_ns());
  g.wait("goes on", end_ns);
  g.advance(2s);
  EXPECT_EQ(g.told, Told{"goes on withheld"});
  g.advance(8s);
  EXPECT_EQ(g.told, (Told{"goes on withheld", "new withheld"}));
}

TEST(BindingGate, StoppingEndsAllWaitsAtOnce) {
  Gate g(false);
  g.wait("a", g.gate->wait_end_ns());
  g.gate->stop();
  EXPECT_EQ(g.told, Told{"a stopped"});
  g.wait("b", g.gate->wait_end_ns());
  EXPECT_EQ(g.told.back(), "b stopped");
  g.gate->watch_in_step(true);
  EXPECT_EQ(g.answer({"n1", "1"}), "yes") << "what need not wait may still be sent";
}

TEST(BindingGate, ACallbackThatThrowsDoesNotKeepOtherBindingsWaiting) {
  Gate g(false);
  g.gate->when_in_step(g.gate->wait_end_ns(), [](const Status&) { throw std::bad_function_call(); });
  g.wait("b", g.gate->wait_end_ns());
  g.gate->watch_in_step(true);
  EXPECT_EQ(g.told, Told{"b goes"});
}

}  // namespace
}  // namespace berth::tests
