// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/embedded_cluster.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/planned_failures.hpp"
#include "text/parse.hpp"

namespace berth::cluster {
namespace {

/// Writes down what it hears.
class Listener final : public ClusterSink {
 public:
  explicit Listener(const SymbolTable& symbols) : symbols_(symbols) {}
  void pod_added(const model::PodPtr& pod) override { say("+pod " + show(*pod)); }
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override {
    say("~pod " + show(*old_pod) + " -> " + show(*new_pod));
  }
  void pod_deleted(const model::PodPtr& pod) override { say("-pod " + show(*pod)); }
  void node_added(const model::NodePtr& node) override { say("+node " + node->name); }
  void node_updated(const model::NodePtr&, const model::NodePtr& node) override { say("~node " + node->name); }
  void node_deleted(const model::NodePtr& node) override { say("-node " + node->name); }
  void object_added(const model::ObjectPtr& object) override { say("+" + object->resource + " " + object->name); }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override {
    say("~" + object->resource + " " + object->name);
  }
  void object_deleted(const model::ObjectPtr& object) override { say("-" + object->resource + " " + object->name); }
  void synced() override { say("synced"); }

  void say(std::string line) { lines_.push_back(std::move(line)); }
  std::vector<std::string> take() { return std::exchange(lines_, {}); }

 private:
  std::string show(const model::Pod& pod) const {
    std::string out = pod.name;
    if (pod.node_name != 0) out.append("@").append(symbols_.text(pod.node_name));
    if (pod.nominated_node != 0) out.append("?").append(symbols_.text(pod.nominated_node));
    if (pod.deleting) out += "!";
    return out;
  }
  const SymbolTable& symbols_;
  std::vector<std::string> lines_;
};

using Lines = std::vector<std::string>;

class EmbeddedClusterTest : public testing::Test {
 protected:
  model::Pod pod(std::string name, std::string uid = "u") {
    model::Pod pod;
    pod.ns = "ns";
    pod.name = std::move(name);
    pod.uid = std::move(uid);
    pod.ns_symbol = symbols.intern("ns");
    return pod;
  }
  void put(model::Pod pod) { cluster.put_pod(std::make_shared<model::Pod>(std::move(pod))); }
  void put_node(std::string name) {
    auto node = std::make_shared<model::Node>();
    node->name = std::move(name);
    cluster.put_node(std::move(node));
  }
  ClusterWriter::Done done(std::string name) {
    return [this, name](Status status) {
      sink.say(name + ": " +
               (status.ok() ? "ok" : std::string(error_name(status.error().code)) + ": " + status.error().message));
    };
  }
  Lines heard() {
    cluster.deliver();
    return sink.take();
  }

  SymbolTable symbols;
  ManualClock clock{1'000};
  Listener sink{symbols};
  EmbeddedCluster cluster{symbols, clock};
};

TEST_F(EmbeddedClusterTest, DeliversWhatExistsThenChanges) {
  put(pod("early"));
  put_node("n");
  auto service = std::make_shared<model::Object>();
  service->resource = "core/v1/services";
  service->name = "s";
  cluster.put_object(service);
  model::Pod over = pod("over");
  over.phase = "Succeeded";
  put(over);
  cluster.start(sink);
  EXPECT_EQ(sink.take(), (Lines{"+core/v1/services s", "+node n", "+pod early", "synced"}));
  EXPECT_EQ(heard(), Lines{});
  put_node("n");
  put(pod("early"));
  put(pod("late"));
  cluster.put_object(service);
  EXPECT_EQ(sink.take(), Lines{}) << "news waits for deliver()";
  EXPECT_EQ(heard(), (Lines{"~node n", "~pod early -> early", "+pod late", "~core/v1/services s"}));
  EXPECT_TRUE(cluster.remove_node("n"));
  EXPECT_FALSE(cluster.remove_node("n"));
  EXPECT_TRUE(cluster.remove_pod("ns", "late"));
  EXPECT_TRUE(cluster.remove_object("core/v1/services", "", "s"));
  EXPECT_EQ(heard(), (Lines{"-node n", "-pod late", "-core/v1/services s"}));
}

TEST_F(EmbeddedClusterTest, ShowsFinishedPodsAsGone) {
  cluster.start(sink);
  put(pod("p"));
  model::Pod over = pod("p");
  over.phase = "Failed";
  put(over);
  put(over);
  EXPECT_EQ(heard(), (Lines{"synced", "+pod p", "-pod p"}));
  EXPECT_NE(cluster.find_pod("ns", "p"), nullptr);
}

TEST_F(EmbeddedClusterTest, ShowsAPodOfAnotherUidAsAnotherPod) {
  cluster.start(sink);
  put(pod("p", "one"));
  put(pod("p", "two"));
  EXPECT_EQ(heard(), (Lines{"synced", "+pod p", "-pod p", "+pod p"}));
}

TEST_F(EmbeddedClusterTest, GivesEveryStateAVersionOfItsOwn) {
  put(pod("p"));
  const std::string first = cluster.find_pod("ns", "p")->resource_version;
  model::Pod same = pod("p");
  same.resource_version = first;
  put(same);
  EXPECT_NE(first, "");
  EXPECT_NE(cluster.find_pod("ns", "p")->resource_version, first);
  cluster.bind({"ns", "p", "u"}, "n", done("bind"));
  EXPECT_NE(cluster.find_pod("ns", "p")->resource_version, first);
}

TEST_F(EmbeddedClusterTest, BindsAsTheApiServerDoes) {
  model::Pod nominated = pod("p");
  nominated.nominated_node = symbols.intern("m");
  nominated.conditions = {{"PodScheduled", "False", "Unschedulable", "why"}};
  put(nominated);
  cluster.start(sink);
  sink.take();
  cluster.bind({"ns", "p", "u"}, "n", done("bind"));
  EXPECT_EQ(heard(), (Lines{"bind: ok", "~pod p?m -> p@n"}));
  EXPECT_EQ(cluster.find_pod("ns", "p")->conditions,
            (std::vector<model::PodCondition>{{"PodScheduled", "True", "", ""}}));
}

TEST_F(EmbeddedClusterTest, RefusesBindsAsTheApiServerDoes) {
  put(pod("other-uid", "new"));
  model::Pod assigned = pod("assigned");
  assigned.node_name = symbols.intern("m");
  put(assigned);
  model::Pod leaving = pod("leaving");
  leaving.deleting = true;
  put(leaving);
  model::Pod gated = pod("gated");
  gated.spec.edit().gates = {"g"};
  put(gated);
  cluster.start(sink);
  sink.take();
  for (const char* name : {"gone", "other-uid", "assigned", "leaving", "gated"})
    cluster.bind({"ns", name, "u"}, "n", done(name));
  const std::string head = "Operation cannot be fulfilled on pods/binding ";
  EXPECT_EQ(
      heard(),
      (Lines{"gone: not_found: pods \"gone\" not found",
             "other-uid: conflict: " + head +
                 "\"other-uid\": Precondition failed: UID in precondition: u, UID in object meta: new",
             "assigned: conflict: " + head + "\"assigned\": pod assigned is already assigned to node \"m\"",
             "leaving: conflict: " + head + "\"leaving\": pod leaving is being deleted, cannot be assigned to a host",
             "gated: conflict: " + head + "\"gated\": pod gated has non-empty .spec.schedulingGates"}));
}

TEST_F(EmbeddedClusterTest, PatchesStatusAndStaysSilentWhereNothingChanges) {
  put(pod("p"));
  cluster.start(sink);
  sink.take();
  const PodStatusPatch patch{.conditions = {{"PodScheduled", "False", "Unschedulable", "why"}}, .nominated_node = "n"};
  cluster.patch_pod_status({"ns", "p", "u"}, patch, done("patch"));
  cluster.patch_pod_status({"ns", "p", "u"}, patch, done("again"));
  cluster.patch_pod_status({"ns", "p", "u"}, {.nominated_node = ""}, done("clear"));
  cluster.patch_pod_status({"ns", "p", "x"}, patch, done("stranger"));
  cluster.patch_pod_status({"ns", "p", "u"}, {.merge_json = "[1"}, done("malformed"));
  const Lines lines = heard();
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(Lines(lines.begin(), lines.begin() + 5),
            (Lines{"patch: ok", "~pod p -> p?n", "again: ok", "clear: ok", "~pod p?n -> p"}));
  EXPECT_EQ(lines[5].substr(0, 19), "stranger: conflict:");
  EXPECT_EQ(lines[6].substr(0, 19), "malformed: invalid:");
  EXPECT_EQ(cluster.find_pod("ns", "p")->conditions[0].message, "why");
  cluster.patch_pod_status(
      {"ns", "p", "u"},
      {.merge_json = R"({"conditions":[{"type":"X","status":"True"}],"nominatedNodeName":"m","phase":"Running"})"},
      nullptr);
  EXPECT_EQ(heard(), Lines{"~pod p -> p?m"});
  EXPECT_EQ(cluster.find_pod("ns", "p")->conditions, (std::vector<model::PodCondition>{{"X", "True", "", ""}}));
  EXPECT_EQ(cluster.find_pod("ns", "p")->phase, "Running");
}

TEST_F(EmbeddedClusterTest, PatchesLabelsAndAnnotations) {
  model::Pod labelled = pod("p");
  labelled.labels = {{symbols.intern("a"), symbols.intern("1")}, {symbols.intern("b"), symbols.intern("2")}};
  put(labelled);
  cluster.start(sink);
  sink.take();
  cluster.patch_pod_metadata({"ns", "p", "u"},
                             {.labels = {{"a", "3"}, {"b", std::nullopt}, {"c", "4"}}, .annotations = {{"x", "y"}}},
                             done("patch"));
  EXPECT_EQ(heard(), (Lines{"patch: ok", "~pod p -> p"}));
  const model::PodPtr after = cluster.find_pod("ns", "p");
  EXPECT_EQ(after->labels,
            (model::Labels{{symbols.intern("a"), symbols.intern("3")}, {symbols.intern("c"), symbols.intern("4")}}));
  EXPECT_EQ(after->annotations, (model::Labels{{symbols.intern("x"), symbols.intern("y")}}));
  cluster.patch_pod_metadata({"ns", "p", "u"}, {.labels = {{"a", "3"}}}, done("same"));
  EXPECT_EQ(heard(), (Lines{"same: ok"}));
}

TEST_F(EmbeddedClusterTest, KeepsTheBodyOfAPodInStep) {
  model::Pod whole = pod("p");
  whole.body = PackedText(R"({"metadata":{"name":"p","labels":{"a":"1"}},"spec":{"containers":[]}})");
  put(whole);
  cluster.bind({"ns", "p", "u"}, "n", done("bind"));
  cluster.patch_pod_metadata({"ns", "p", "u"}, {.labels = {{"a", std::nullopt}, {"b\"", "2"}}}, done("labels"));
  EXPECT_EQ(cluster.find_pod("ns", "p")->body.text(),
            R"({"metadata":{"name":"p","labels":{"b\"":"2"},"annotations":{}},"spec":{"containers":[],"nodeName":"n"},)"
            R"("status":{"conditions":[{"type":"PodScheduled","status":"True","reason":"","message":""}]}})");
}

TEST_F(EmbeddedClusterTest, EvictsAtOnceOrGracefully) {
  put(pod("p"));
  cluster.start(sink);
  sink.take();
  cluster.evict({"ns", "p", "u"}, done("evict"));
  cluster.evict({"ns", "p", "u"}, done("again"));
  EXPECT_EQ(heard(), (Lines{"evict: ok", "-pod p", "again: not_found: pods \"p\" not found"}));

  EmbeddedCluster slow(symbols, clock, {.graceful_deletes = true});
  auto placed = std::make_shared<model::Pod>(pod("q"));
  placed->node_name = symbols.intern("n");  // a pod that no kubelet has goes at once
  slow.put_pod(placed);
  slow.start(sink);
  slow.evict({"ns", "q", "u"}, done("evict"));
  slow.evict({"ns", "q", "u"}, done("again"));
  slow.deliver();
  EXPECT_EQ(sink.take(), (Lines{"+pod q@n", "synced", "evict: ok", "~pod q@n -> q@n!", "again: ok"}));
  clock.advance(std::chrono::hours(1));
  slow.finish_due_deletions();
  slow.deliver();
  EXPECT_EQ(sink.take(), Lines{"-pod q@n!"});
}

TEST_F(EmbeddedClusterTest, RefusesTheWritesItIsToRefuse) {
  tests::PlannedFailures failures;
  EmbeddedCluster refusing(symbols, clock, {.refuse = failures.refuse()});
  refusing.put_pod(std::make_shared<model::Pod>(pod("p")));
  refusing.put_pod(std::make_shared<model::Pod>(pod("q")));
  refusing.start(sink);
  sink.take();
  failures.next(RecordedWrite::Kind::bind, {"try later", ErrorCode::service_unavailable}, "ns/p");
  refusing.bind({"ns", "q", "u"}, "n", done("q"));
  refusing.bind({"ns", "p", "u"}, "n", done("p"));
  refusing.bind({"ns", "p", "u"}, "n", done("p"));
  refusing.deliver();
  EXPECT_EQ(sink.take(),
            (Lines{"q: ok", "~pod q -> q@n", "p: service_unavailable: try later", "p: ok", "~pod p -> p@n"}));
}

TEST_F(EmbeddedClusterTest, RecordsWrites) {
  put(pod("p"));
  clock.advance(std::chrono::nanoseconds(5));
  cluster.bind({"ns", "p", "u"}, "n", nullptr);
  cluster.record_event({.warning = true, .regarding = {"ns", "p", "u"}, .reason = "FailedScheduling"}, nullptr);
  cluster.bind({"ns", "gone", "u"}, "n", nullptr);
  const auto writes = cluster.writes();
  ASSERT_EQ(writes.size(), 3u);
  EXPECT_EQ(writes[0].kind, RecordedWrite::Kind::bind);
  EXPECT_EQ(writes[0].node, "n");
  EXPECT_EQ(writes[0].wall_ns, 1'005);
  EXPECT_TRUE(writes[0].outcome.ok());
  EXPECT_EQ(writes[1].event.reason, "FailedScheduling");
  EXPECT_EQ(writes[2].outcome.error().code, ErrorCode::not_found);
}

TEST_F(EmbeddedClusterTest, DeliversWhatADeliveryCauses) {
  put(pod("p"));
  cluster.start(sink);
  sink.take();
  cluster.bind({"ns", "p", "u"}, "n", [&](Status) { cluster.evict({"ns", "p", "u"}, done("evict")); });
  EXPECT_EQ(cluster.deliver(), 4u);
  EXPECT_EQ(sink.take(), (Lines{"~pod p -> p@n", "evict: ok", "-pod p@n"}));
  EXPECT_EQ(cluster.waiting(), 0u);
}

TEST_F(EmbeddedClusterTest, SaysNothingAfterStop) {
  cluster.start(sink);
  put(pod("p"));
  cluster.stop();
  put(pod("q"));
  EXPECT_EQ(heard(), Lines{"synced"});
}

TEST_F(EmbeddedClusterTest, TakesWritesFromSeveralThreads) {
  constexpr int k_pods = 50;
  for (int i = 0; i < k_pods; ++i) put(pod("p" + std::to_string(i)));
  std::atomic<int> wakes{0};
  EmbeddedCluster shared(symbols, clock, {.wake = [&] { ++wakes; }});
  for (const model::PodPtr& each : cluster.pods()) shared.put_pod(each);
  shared.start(sink);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < k_pods; ++i)
        shared.bind({"ns", "p" + std::to_string(i), "u"}, "n", [&](Status status) { good += status.ok(); });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.deliver(), 3u * k_pods);
  EXPECT_EQ(good, k_pods) << "each pod is bound once";
  EXPECT_EQ(wakes, 3 * k_pods);
}

}  // namespace
}  // namespace berth::cluster
