// SPDX-License-Identifier: Apache-2.0
// Bindings on their way to the wire, and what the reader tells the gate that they pass.
#include <algorithm>
#include <atomic>

#include "cluster/binding_gate.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cluster/kube/write/kube_writer.hpp"
#include "unit/kube/live.hpp"
#include "unit/kube/mirror.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
using cluster::BindingGate;
using cluster::PodRef;
using cluster::WithheldReason;
using namespace std::chrono_literals;

/// A server, and a gate whose time is manual.
class GatedCluster : public testing::Test {
 protected:
  GatedCluster() { server.create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})"); }
  std::string put_node(const std::string& name) { return server.create(node_json(name))->uid; }
  void remove_node(const std::string& name) {
    ASSERT_TRUE(server.store().remove(*server.store().find("", "v1", "nodes"), "", name, {}).ok());
  }
  PodRef put_pod(const std::string& name) { return {"default", name, server.create(pod_json(name))->uid}; }
  /// Runs the gate's timers that are due after that time.
  void advance(std::chrono::nanoseconds duration) {
    clock.advance(duration);
    std::vector<std::function<void()>> all;
    timers_changed.change([&] { all.swap(timers); });
    for (const auto& task : all) task();
  }
  /// True once the gate answers so about a node.
  bool comes_to(const std::string& code, const cluster::PlacedNode& node) {
    return until([&] {
      const Status status = gate->admit(node);
      return (status.ok() ? "" : error_name(status.error().code)) == code;
    });
  }
  template <typename Condition>
  bool until(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      server.await_change(server.await_change(0, 0ms), 5ms);
    }
    return false;
  }

  SystemClock system_clock;
  ManualClock clock;
  ApiServer server{[] {
    ApiServerOptions options;
    options.bookmark_period = 20ms;
    return options;
  }()};
  Signal timers_changed;
  std::vector<std::function<void()>> timers;
  std::shared_ptr<BindingGate> gate = std::make_shared<BindingGate>(
      clock, cluster::BindingGateOptions{.after = [this](std::int64_t, std::function<void()> task) {
        timers_changed.change([&] { timers.push_back(std::move(task)); });
      }});
  net::IoThreads threads{3};
};

class GatedWriter : public GatedCluster {
 protected:
  void start(double qps, std::size_t connections_max = 32) {
    KubeWriterOptions options;
    options.writes.qps = qps;
    options.writes.burst = 1;
    options.writes.connections_max = connections_max;
    options.events.qps = -1;
    options.gate = gate;
    writer.emplace(
        threads, endpoint_of(server, system_clock), clock,
        [](std::string_view, std::string_view) { return model::PodPtr(); }, options);
  }
  auto done() {
    return [this](const Status& status) {
      signal.change([&] { outcomes.push_back(status.ok() ? "bound" : std::string(error_name(status.error().code))); });
    };
  }
  void decide(const PodRef& pod, const std::string& node, const std::string& node_uid) {
    gate->placed(pod.uid, {node, node_uid});
    writer->bind(pod, node, done());
  }
  bool come(std::size_t count) {
    return signal.wait([&] { return outcomes.size() == count; });
  }
  long count(const std::string& outcome) { return std::count(outcomes.begin(), outcomes.end(), outcome); }

  Signal signal;
  std::vector<std::string> outcomes;
  std::optional<KubeWriter> writer;
};

TEST_F(GatedWriter, ABindingThatWaitsForTheLimitIsNotSentToANodeThatIsDeletedMeanwhile) {
  constexpr std::size_t k_pods = 12;
  const std::string uid = put_node("n1");
  SymbolTable symbols;
  Mirror sink{symbols};
  KubeReaderOptions options;
  options.gate = gate;
  KubeReader reader{threads, endpoint_of(server, system_clock), symbols, options};
  reader.start(sink);
  ASSERT_TRUE(comes_to("", {"n1", uid}));
  start(4, 1);
  std::vector<PodRef> pods;
  for (std::size_t i = 0; i < k_pods; ++i) pods.push_back(put_pod("p" + std::to_string(i)));
  for (const PodRef& pod : pods) decide(pod, "n1", uid);
  ASSERT_TRUE(signal.wait([&] { return !outcomes.empty(); }));
  EXPECT_EQ(outcomes.front(), "bound") << "the limit lets one go at once";
  remove_node("n1");
  ASSERT_TRUE(comes_to("withheld", {"n1", uid}));
  const std::size_t until_known = server.store().bindings().size();
  ASSERT_TRUE(come(k_pods));
  const std::size_t in_all = server.store().bindings().size();
  EXPECT_LE(in_all, until_known + 1) << "one may have been on the wire";
  EXPECT_LT(in_all, k_pods);
  EXPECT_EQ(count("withheld"), static_cast<long>(k_pods - in_all));
  reader.stop();
}

TEST_F(GatedWriter, ABindingToANodeThatWasReplacedIsNotSent) {
  start(-1);
  gate->watch_in_step(true);
  gate->node_present("n1", "new");
  decide(put_pod("p"), "n1", "old");
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "withheld");
  EXPECT_EQ(gate->withheld(WithheldReason::node_replaced), 1U) << "it was asked once, and not tried again";
  EXPECT_TRUE(server.store().bindings().empty());
}

TEST_F(GatedWriter, WhatThisHostDidNotDecideIsNotJudged) {
  start(-1);
  writer->bind(put_pod("p"), "n1", done());
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "bound");
}

TEST_F(GatedWriter, ABindingWaitsForTheWatchOfNodesAndKeepsNothingElseWaiting) {
  start(-1, 1);
  gate->node_present("n1", "1");
  for (int i = 0; i < 5; ++i) decide(put_pod("p" + std::to_string(i)), "n1", "1");
  ASSERT_TRUE(until([&] { return gate->waiting() == 5; }));
  writer->evict(put_pod("victim"), done());
  ASSERT_TRUE(come(1)) << "its connection is free";
  gate->watch_in_step(true);
  ASSERT_TRUE(come(6));
  EXPECT_EQ(count("bound"), 6);
  EXPECT_EQ(server.store().bindings().size(), 5U);
}

TEST_F(GatedWriter, ABindingThatHasWaitedForTooLongFails) {
  start(-1);
  gate->node_present("n1", "1");
  decide(put_pod("p"), "n1", "1");
  ASSERT_TRUE(timers_changed.wait([&] { return timers.size() == 1; }));
  advance(10s);
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "withheld");
  EXPECT_EQ(gate->withheld(WithheldReason::watch_down), 1U);
  EXPECT_TRUE(server.store().bindings().empty());
}

/// Bindings of which the answer is lost, at a gate that closes after the first try.
class LostAnswer : public GatedWriter {
 protected:
  void lose(const Faults& faults) {
    start(-1, 1);
    gate->watch_in_step(true);
    gate->node_present("n1", "1");
    server.inject(faults);
    decide(put_pod("p"), "n1", "1");
    ASSERT_TRUE(until([&] { return !server.writes().empty(); }));
    gate->watch_in_step(false);
    ASSERT_TRUE(until([&] { return gate->waiting() == 1; })) << "its room stays taken: it may have been carried out";
    server.inject({});
  }
};

TEST_F(LostAnswer, IsSentAgainWhenTheWatchOfNodesIsBack) {
  Faults faults;
  faults.internal_error = 1;
  lose(faults);
  gate->watch_in_step(true);
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "bound");
  EXPECT_EQ(server.store().bindings().size(), 1U);
}

TEST_F(LostAnswer, IsBoundWhenTheServerSaysSoAfterTheNodeIsGone) {
  Faults faults;
  faults.lost_answer = 1;
  lose(faults);
  gate->node_absent("n1", "1");
  gate->watch_in_step(true);
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "bound");
}

TEST_F(LostAnswer, IsBoundWhenTheServerSaysSoAfterTheWait) {
  Faults faults;
  faults.lost_answer = 1;
  lose(faults);
  advance(10s);
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "bound");
}

TEST_F(GatedWriter, StoppingEndsTheWaitAtOnce) {
  start(-1);
  gate->node_present("n1", "1");
  decide(put_pod("p"), "n1", "1");
  ASSERT_TRUE(timers_changed.wait([&] { return timers.size() == 1; }));
  writer->stop();
  ASSERT_TRUE(come(1));
  EXPECT_EQ(outcomes.front(), "stopped");
}

/// Whether lists are streamed.
class GatedReader : public GatedCluster, public testing::WithParamInterface<bool> {
 protected:
  ~GatedReader() override { reader->stop(); }
  void start(std::chrono::milliseconds short_gap) {
    KubeReaderOptions options;
    options.gate = gate;
    options.client.qps = -1;
    options.reflector.streaming_lists = GetParam();
    options.reflector.backoff_initial_s = 0.01;
    options.reflector.backoff_max_s = 0.05;
    options.reflector.short_gap = short_gap;
    reader.emplace(threads, endpoint_of(server, system_clock), symbols, options);
    reader->start(sink);
  }
  /// Watches are opened and told nothing, not even that they are open.
  void silence() {
    Faults faults;
    faults.unanswered = 1;
    server.inject(faults);
    server.restart();
  }
  void speak() {
    server.inject({});
    server.restart();
  }

  SymbolTable symbols;
  Mirror sink{symbols};
  std::optional<KubeReader> reader;
};

TEST_P(GatedReader, TellsTheGateWhichNodesThereAre) {
  const std::string first = put_node("n1");
  start(1000ms);
  EXPECT_TRUE(comes_to("", {"n1", first}));
  remove_node("n1");
  EXPECT_TRUE(comes_to("withheld", {"n1", first}));
  const std::string second = put_node("n1");
  EXPECT_TRUE(comes_to("", {"n1", second}));
  EXPECT_TRUE(comes_to("withheld", {"n1", first}));
  EXPECT_NE(gate->withheld(WithheldReason::node_replaced), 0U);
}

TEST_P(GatedReader, TheGateIsToldThatTheWatchIsDownAndThatItIsBack) {
  const std::string uid = put_node("n1");
  start(60'000ms);
  ASSERT_TRUE(comes_to("", {"n1", uid}));
  silence();
  EXPECT_TRUE(comes_to("nodes_unknown", {"n1", uid}));
  std::atomic<bool> goes{false};
  gate->when_in_step(gate->wait_end_ns(), [&](const Status& status) { goes = status.ok(); });
  speak();
  EXPECT_TRUE(comes_to("", {"n1", uid}));
  EXPECT_TRUE(goes);
}

TEST_P(GatedReader, AWatchThatWasAwayIsInStepWhenItKnowsWhatItMissed) {
  const std::string uid = put_node("n1");
  start(0ms);
  ASSERT_TRUE(comes_to("", {"n1", uid}));
  Faults faults;
  faults.dropped_watch = faults.internal_error = 1;
  server.inject(faults);
  put_node("n2");
  ASSERT_TRUE(comes_to("nodes_unknown", {"n1", uid}));
  remove_node("n1");
  server.hold_watches(true);  // the watch is opened again, and does not come to tell of it
  server.inject({});
  std::string answer;
  const auto end = std::chrono::steady_clock::now() + k_patience;
  while (answer != "withheld" && std::chrono::steady_clock::now() < end) {
    const Status status = gate->admit({"n1", uid});
    answer = status.ok() ? "" : std::string(error_name(status.error().code));
    ASSERT_NE(answer, "") << "it is gone";
    server.await_change(server.await_change(0, 0ms), 1ms);
  }
  EXPECT_EQ(answer, "withheld") << "a snapshot has shown it";
  server.hold_watches(false);
}

INSTANTIATE_TEST_SUITE_P(Ways, GatedReader, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "streaming" : "lists"; });

}  // namespace
}  // namespace berth::tests
