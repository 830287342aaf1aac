// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/write/kube_writer.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>

#include "cluster/kube/read/api_status.hpp"
#include "support/servers/scripted_extender.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
using cluster::EventRecord;
using cluster::PodRef;
using cluster::PodStatusPatch;

class KubeWriterTest : public testing::Test {
 protected:
  KubeWriterTest() { options.writes.qps = options.events.qps = -1; }

  template <typename Call>
  Status wait(Call&& call) {
    auto answered = std::make_shared<std::promise<Status>>();
    auto answer = answered->get_future();
    call([answered](Status status) { answered->set_value(std::move(status)); });
    if (answer.wait_for(k_patience) != std::future_status::ready) return Error{"no answer in time"};
    return answer.get();
  }
  Status bind(const PodRef& pod, const std::string& node) {
    return wait([&](auto done) { writer->bind(pod, node, std::move(done)); });
  }
  PodRef put(const std::string& name) { return {"default", name, server.create(pod_json(name))->uid}; }
  json::value stored(const std::string& name) {
    return json::parse((*server.store().get(*server.store().find("", "v1", "pods"), "default", name).value)->text);
  }

  static KubeWriterOptions unlimited() {
    KubeWriterOptions out;
    out.writes.qps = out.events.qps = -1;
    out.host_name = "host-1";
    return out;
  }

  ManualClock clock{1'767'323'045'123'456'789};  // 2026-01-02T03:04:05.123456789Z
  SystemClock system_clock;
  ApiServer server;
  net::IoThreads threads{2};
  KubeWriterOptions options;
  model::PodPtr known;  // what the reader would have
  std::unique_ptr<KubeWriter> writer = std::make_unique<KubeWriter>(
      threads, endpoint_of(server, system_clock), clock, [this](std::string_view, std::string_view) { return known; },
      unlimited());
};

TEST_F(KubeWriterTest, BindsAPodAndItsUidIsAPrecondition) {
  const PodRef pod = put("web-0");
  const Status replaced = bind({pod.ns, pod.name, "another-uid"}, "node-7");
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().code, ErrorCode::conflict);
  EXPECT_TRUE(bind(pod, "node-7").ok());
  EXPECT_EQ(text_at(stored("web-0"), "/spec/nodeName"), "node-7");
  const Status twice = bind(pod, "node-8");
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message.find("already assigned to node \"node-7\""), std::string::npos);
  const auto sent = server.writes();
  EXPECT_EQ(
      sent.front().body,
      R"({"kind":"Binding","apiVersion":"v1","metadata":{"name":"web-0","namespace":"default","uid":"another-uid"},)"
      R"("target":{"kind":"Node","name":"node-7"}})");
}

TEST_F(KubeWriterTest, ABindingWhoseAnswerGotLostIsABinding) {
  Faults faults;
  faults.lost_answer = 0.4;
  faults.internal_error = 0.2;
  faults.seed = 7;
  server.inject(faults);
  for (int i = 0; i < 20; ++i) {
    const PodRef pod = put("p" + std::to_string(i));
    const Status status = bind(pod, "node-1");
    EXPECT_EQ(status.ok(), text_at(stored(pod.name), "/spec/nodeName") == "node-1")
        << (status.ok() ? "" : status.error().message);
  }
  EXPECT_EQ(server.store().bindings().size(), 20U);
}

TEST_F(KubeWriterTest, APatchWritesItsConditionAndLeavesTheOthers) {
  const PodRef pod = put("web-0");
  json::object condition, status, patch;
  condition["type"] = "Ready";
  condition["status"] = "False";
  status["conditions"] = json::array(1, condition);
  patch["status"] = status;
  ASSERT_TRUE(server.store().patch(*server.store().find("", "v1", "pods"), "default", "web-0", patch, true, true).ok());

  PodStatusPatch failure;
  failure.conditions = {{"PodScheduled", "False", "Unschedulable", "0/1 nodes are available"}};
  failure.observed_generation = 1;
  failure.nominated_node = "node-7";
  EXPECT_TRUE(wait([&](auto done) { writer->patch_pod_status(pod, failure, std::move(done)); }).ok());
  const json::value now = stored("web-0");
  EXPECT_EQ(text_at(now, "/status/conditions/0/type"), "Ready");
  EXPECT_EQ(text_at(now, "/status/conditions/1/reason"), "Unschedulable");
  EXPECT_EQ(text_at(now, "/status/nominatedNodeName"), "node-7");
  failure = {};
  failure.nominated_node = "";
  EXPECT_TRUE(wait([&](auto done) { writer->patch_pod_status(pod, failure, std::move(done)); }).ok());
  EXPECT_EQ(text_at(stored("web-0"), "/status/nominatedNodeName"), "");
  EXPECT_EQ(server.writes().back().content_type, "application/strategic-merge-patch+json");
  const Status other = wait([&](auto done) {
    writer->patch_pod_status({pod.ns, pod.name, "another-uid"}, failure, std::move(done));
  });
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::conflict);
}

TEST_F(KubeWriterTest, TheTimeOfTransitionMovesOnlyWithTheStatus) {
  PodStatusPatch failure;
  failure.conditions = {{"PodScheduled", "False", "Unschedulable", "m"}};
  failure.observed_generation = 3;
  model::Pod pod;
  pod.uid = "u";
  EXPECT_EQ(
      status_patch_json({"ns", "p", ""}, failure, &pod, clock.wall_ns()),
      R"({"status":{"conditions":[{"lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z","message":"m",)"
      R"("observedGeneration":3,"reason":"Unschedulable","status":"False","type":"PodScheduled"}]}})");
  pod.conditions = {{"PodScheduled", "False", "Unschedulable", "before"}};
  EXPECT_EQ(status_patch_json({"ns", "p", "u"}, failure, &pod, clock.wall_ns()),
            R"({"metadata":{"uid":"u"},"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],)"
            R"("conditions":[{"message":"m","observedGeneration":3,"reason":"Unschedulable","status":"False",)"
            R"("type":"PodScheduled"}]}})");
}

TEST_F(KubeWriterTest, ANewConditionStandsBehindThoseThatAreKnown) {
  PodStatusPatch evicted;
  evicted.conditions = {{"DisruptionTarget", "True", "PreemptionByScheduler", "m"}};
  model::Pod pod;
  pod.uid = "u";
  pod.conditions = {{"Ready", "True", "", ""}, {"PodScheduled", "True", "", ""}};
  const std::string order = R"("$setElementOrder/conditions":[{"type":"Ready"},{"type":"PodScheduled"},)"
                            R"({"type":"DisruptionTarget"}])";
  EXPECT_NE(status_patch_json({"ns", "p", "u"}, evicted, &pod, clock.wall_ns()).find(order), std::string::npos);
}

TEST_F(KubeWriterTest, WritesAboutOnePodKeepTheirOrder) {
  Faults faults;
  faults.slow = 0.5;
  faults.slow_max = std::chrono::milliseconds(20);
  faults.seed = 3;
  server.inject(faults);
  PodStatusPatch failure;
  failure.conditions = {{"PodScheduled", "False", "Unschedulable", "0/1 nodes are available"}};
  std::vector<PodRef> pods;
  for (int i = 0; i < 20; ++i) pods.push_back(put("p" + std::to_string(i)));
  std::atomic<int> open{0};
  std::promise<void> all;
  const auto done = [&](const Status& status) {
    EXPECT_TRUE(status.ok());
    if (--open == 0) all.set_value();
  };
  open = 3 * static_cast<int>(pods.size());
  // A failure is told, the next attempt succeeds, and a label is written: nothing waits for the answer before it.
  for (const PodRef& pod : pods) writer->patch_pod_status(pod, failure, done);
  for (const PodRef& pod : pods) writer->bind(pod, "node-1", done);
  for (const PodRef& pod : pods) writer->patch_pod_metadata(pod, {{{"tried", "yes"}}, {}}, done);
  ASSERT_EQ(all.get_future().wait_for(k_patience), std::future_status::ready);
  std::map<std::string, std::vector<std::string>> seen;
  for (const auto& write : server.writes()) {
    const std::size_t name = write.target.find("/pods/") + 6, end = write.target.find('/', name);
    seen[write.target.substr(name, end - name)].push_back(end == std::string::npos ? "" : write.target.substr(end));
  }
  EXPECT_EQ(seen.size(), pods.size());
  for (const auto& [pod, writes] : seen)
    EXPECT_EQ(writes, (std::vector<std::string>{"/status", "/binding", ""})) << pod;
}

/// A writer whose first request is not answered until it is let go, and which has one connection.
struct BusyWriter {
  BusyWriter()
      : server([this](const ScriptedExtender::Question&) {
          is_open.wait();
          return ScriptedExtender::Answer();
        }) {
    KubeWriterOptions options;
    options.writes.qps = options.events.qps = -1;
    options.writes.connections_max = 1;
    writer.emplace(
        threads, plain_endpoint(server.port(), system_clock), clock,
        [](std::string_view, std::string_view) { return model::PodPtr(); }, options);
    tell("busy", "wait");
    EXPECT_TRUE(server.await_questions(1));
    // For the one worker that is left, whether or not it has begun when the test sends more.
    PodRef next = pod("next");
    next.priority = std::numeric_limits<std::int32_t>::max();
    writer->evict(next, done());
  }
  static PodRef pod(const std::string& name) { return {"default", name, "uid-" + name}; }
  cluster::ClusterWriter::Done done() {
    return [this](const Status& status) { signal.change([&] { status.ok() ? ++good : ++bad; }); };
  }
  void tell(const std::string& name, const std::string& why, std::optional<std::string> nominated = {},
            bool urgent = false) {
    PodStatusPatch patch;
    patch.conditions = {{"PodScheduled", "False", "Unschedulable", why}};
    patch.nominated_node = std::move(nominated);
    patch.urgent = urgent;
    writer->patch_pod_status(pod(name), patch, done());
  }
  /// What came to the server after the first two, as "METHOD pod/subresource: what it says"; all of them went well.
  std::vector<std::string> rest(int answers) {
    gate.set_value();
    EXPECT_TRUE(signal.wait([&] { return good + bad == answers; }));
    EXPECT_EQ(bad, 0);
    std::vector<std::string> out;
    for (const auto& question : server.questions()) {
      const std::size_t pods = question.target.find("/pods/");
      std::string line = pods == std::string::npos ? question.verb : question.target.substr(pods + 6);
      if (line.starts_with("busy") || line.starts_with("next")) continue;
      if (const json::value* message = find_at(question.body, "/status/conditions/0/message"))
        line += ": " + std::string(message->as_string());
      if (const json::value* node = find_at(question.body, "/status/nominatedNodeName"))
        line += " on " + (node->is_null() ? "none" : std::string(node->as_string()));
      out.push_back(question.method + " " + line);
    }
    return out;
  }
  static const json::value* find_at(const json::value& body, const char* pointer) {
    boost::system::error_code ignored;
    return body.find_pointer(pointer, ignored);
  }

  std::promise<void> gate;
  std::shared_future<void> is_open = gate.get_future().share();
  ManualClock clock;
  SystemClock system_clock;
  ScriptedExtender server;
  net::IoThreads threads{2};
  Signal signal;
  int good = 0, bad = 0;
  std::optional<KubeWriter> writer;
};
using Requests = std::vector<std::string>;

TEST(BusyKubeWriter, BindingsAndEvictionsGoBeforeStatusPatches) {
  BusyWriter busy;
  busy.tell("a", "no");
  busy.writer->bind(BusyWriter::pod("b"), "n1", busy.done());
  busy.writer->evict(BusyWriter::pod("c"), busy.done());
  busy.tell("d", "make room", {}, true);
  busy.writer->patch_object({"core/v1/persistentvolumes", "", "v"}, "{}", busy.done());
  EXPECT_EQ(busy.rest(7),
            (Requests{"POST b/binding", "DELETE c", "PATCH d/status: make room", "PATCH v", "PATCH a/status: no"}));
}

TEST(BusyKubeWriter, WritesForPodsOfHighPriorityGoBeforeABacklog) {
  BusyWriter busy;
  const auto pod = [](const std::string& name, std::int32_t priority) {
    PodRef out = BusyWriter::pod(name);
    out.priority = priority;
    return out;
  };
  for (const char* name : {"a", "b", "c"}) busy.writer->bind(pod(name, 0), "n1", busy.done());
  busy.writer->bind(pod("below", -5), "n1", busy.done());
  busy.writer->bind(pod("critical", 2'000'000'000), "n1", busy.done());
  busy.writer->evict(pod("victim", 1'000), busy.done());
  busy.tell("d", "no");
  EXPECT_EQ(busy.rest(9), (Requests{"POST critical/binding", "DELETE victim", "POST a/binding", "POST b/binding",
                                    "POST c/binding", "POST below/binding", "PATCH d/status: no"}));
}

TEST(BusyKubeWriter, PatchesOfOnePodThatWaitAreSentAsOne) {
  BusyWriter busy;
  busy.tell("a", "first");
  busy.tell("a", "second", "n1");
  busy.tell("a", "third");
  busy.tell("a", "fourth", "");
  EXPECT_TRUE(busy.writer->is_patching_status(BusyWriter::pod("a")));
  EXPECT_FALSE(busy.writer->is_patching_status({"default", "a", "of another"}));
  EXPECT_EQ(busy.rest(6), (Requests{"PATCH a/status: first", "PATCH a/status: fourth on none"}));
  EXPECT_FALSE(busy.writer->is_patching_status(BusyWriter::pod("a")));
}

TEST(BusyKubeWriter, ARepeatedStatusPatchIsSentOnce) {
  BusyWriter busy;
  busy.tell("a", "no");
  busy.tell("a", "no");
  busy.tell("a", "no");
  EXPECT_EQ(busy.rest(5), Requests{"PATCH a/status: no"});
}

TEST(BusyKubeWriter, ABindingIsSentAfterEarlierStatusPatchesOfItsPodAndBeforeOtherPods) {
  constexpr int k_others = 30;
  BusyWriter busy;
  for (int i = 0; i < k_others; ++i) busy.tell("other-" + std::to_string(i), "no");
  busy.tell("c", "no");
  busy.tell("c", "still no");
  busy.writer->bind(BusyWriter::pod("c"), "n1", busy.done());
  busy.tell("c", "too late");
  const Requests seen = busy.rest(2 + k_others + 4);
  Requests of_c;
  int others_before_the_binding = 0;
  for (const std::string& line : seen) {
    if (line.find(" other-") == std::string::npos)
      of_c.push_back(line);
    else
      others_before_the_binding += of_c.size() < 3;
  }
  EXPECT_EQ(of_c,
            (Requests{"PATCH c/status: no", "PATCH c/status: still no", "POST c/binding", "PATCH c/status: too late"}));
  // Between two of them each of the two workers may have taken one that waits.
  EXPECT_LE(others_before_the_binding, 6);
}

TEST_F(KubeWriterTest, ABindingWhoseAnswerGotLostIsLookedAtUntilTheServerSaysHowItIs) {
  std::atomic<int> posts{0}, looks{0};
  ScriptedExtender moody([&](const ScriptedExtender::Question& question) {
    using Answer = ScriptedExtender::Answer;
    if (question.method == "POST") return posts++ == 0 ? Answer{.way = Answer::Way::hang_up} : Answer{"{}", 409};
    switch (looks++) {
      case 0:
        return Answer{"{}", 429};
      case 1:
        return Answer{"{}", 503};
      case 2:
        return Answer{.way = Answer::Way::hang_up};
      default:
        return Answer{R"({"metadata":{"uid":"u"},"spec":{"nodeName":"n1"}})"};
    }
  });
  KubeWriter to_moody(
      threads, plain_endpoint(moody.port(), system_clock), clock,
      [](std::string_view, std::string_view) { return model::PodPtr(); }, unlimited());
  EXPECT_TRUE(wait([&](auto done) { to_moody.bind({"default", "p", "u"}, "n1", std::move(done)); }).ok());
  EXPECT_EQ(looks, 4);
}

TEST_F(KubeWriterTest, EvictingAPodThatIsGoneIsSaid) {
  const PodRef pod = put("web-0");
  const Status other = wait([&](auto done) { writer->evict({pod.ns, pod.name, "another-uid"}, std::move(done)); });
  EXPECT_FALSE(other.ok());
  EXPECT_TRUE(wait([&](auto done) { writer->evict(pod, std::move(done)); }).ok());
  const Status again = wait([&](auto done) { writer->evict(pod, std::move(done)); });
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::not_found);
}

TEST_F(KubeWriterTest, LabelsAndAnnotationsAreSetAndRemoved) {
  const PodRef pod = put("web-0");
  EXPECT_TRUE(wait([&](auto done) {
                writer->patch_pod_metadata(pod, {{{"a", "1"}, {"b", "2"}}, {{"note", "n"}}}, std::move(done));
              }).ok());
  EXPECT_TRUE(wait([&](auto done) {
                writer->patch_pod_metadata(pod, {{{"a", std::nullopt}}, {}}, std::move(done));
              }).ok());
  const json::value now = stored("web-0");
  EXPECT_EQ(text_at(now, "/metadata/labels/a"), "");
  EXPECT_EQ(text_at(now, "/metadata/labels/b"), "2");
  EXPECT_EQ(text_at(now, "/metadata/annotations/note"), "n");
}

TEST_F(KubeWriterTest, RepeatedEventsBecomeASeries) {
  auto pod = std::make_shared<model::Pod>();
  pod->uid = "u";
  pod->resource_version = "812";
  known = pod;
  EventRecord event;
  event.warning = true;
  event.regarding = {"shop", "web-0", "u"};
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.note = "0/3 nodes are available";
  event.controller = "default-scheduler";
  const auto record = [&] { return wait([&](auto done) { writer->record_event(event, std::move(done)); }); };
  EXPECT_TRUE(record().ok());
  event.note = "another note, the same event";
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(record().ok());
  auto sent = server.writes();
  ASSERT_EQ(sent.size(), 2U);  // created, then made a series; the rest is counted
  EXPECT_EQ(sent[0].target, "/apis/events.k8s.io/v1/namespaces/shop/events");
  EXPECT_EQ(
      sent[0].body,
      R"({"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"web-0.1886caf223f1ff15","namespace":"shop"},)"
      R"("eventTime":"2026-01-02T03:04:05.123456Z","reportingController":"default-scheduler",)"
      R"("reportingInstance":"default-scheduler-host-1","action":"Scheduling","reason":"FailedScheduling",)"
      R"("regarding":{"kind":"Pod","namespace":"shop","name":"web-0","uid":"u","apiVersion":"v1","resourceVersion":"812"},)"
      R"("note":"0/3 nodes are available","type":"Warning"})");
  EXPECT_EQ(sent[1].body, R"({"series":{"count":2,"lastObservedTime":"2026-01-02T03:04:05.123456Z"}})");
  clock.advance(std::chrono::minutes(7));
  writer->events().tidy();
  EXPECT_TRUE(record().ok());  // a new event, after the end of the series was written
  sent = server.writes();
  EXPECT_TRUE(std::any_of(sent.begin(), sent.end(),
                          [](const auto& s) { return s.body.find("\"count\":5") != std::string::npos; }));
}

TEST_F(KubeWriterTest, AServerThatDoesNotSayWhichEventsItHasIsAskedAgain) {
  std::atomic<unsigned> status{403};
  ScriptedExtender server_of_events([&](const ScriptedExtender::Question& question) {
    return ScriptedExtender::Answer{"{}", question.target == "/apis/events.k8s.io/v1" ? status.load() : 201U};
  });
  KubeWriter writer_of_events(
      threads, plain_endpoint(server_of_events.port(), system_clock), clock,
      [](std::string_view, std::string_view) { return model::PodPtr(); }, unlimited());
  const auto target_of = [&](const std::string& pod) {
    EventRecord event;
    event.regarding = {"shop", pod, "u"};
    event.reason = "Scheduled";
    EXPECT_TRUE(wait([&](auto done) { writer_of_events.record_event(event, std::move(done)); }).ok());
    return server_of_events.questions().back().target;
  };
  constexpr const char* k_today = "/apis/events.k8s.io/v1/namespaces/shop/events";
  EXPECT_EQ(target_of("a"), k_today);
  status = 404;
  EXPECT_EQ(target_of("b"), k_today) << "not again at once";
  EXPECT_EQ(server_of_events.questions("v1").size(), 1U);
  clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(target_of("c"), "/api/v1/namespaces/shop/events");
}

TEST_F(KubeWriterTest, AServerWithoutEventsOfTheirOwnGroupGetsCoreEvents) {
  ApiServerOptions old;
  old.absent_group = "events.k8s.io";
  ApiServer old_server(old);
  KubeWriter to_old(
      threads, endpoint_of(old_server, system_clock), clock,
      [](std::string_view, std::string_view) { return model::PodPtr(); }, unlimited());
  EventRecord event;
  event.regarding = {"shop", "web-0", "u"};
  event.reason = "Scheduled";
  event.action = "Binding";
  event.note = "Successfully assigned shop/web-0 to n1";
  event.controller = "default-scheduler";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(wait([&](auto done) { to_old.record_event(event, std::move(done)); }).ok());
  const auto sent = old_server.writes();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].target, "/api/v1/namespaces/shop/events");
  EXPECT_EQ(sent[0].body,
            R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"web-0.1886caf223f1ff15","namespace":"shop"},)"
            R"("involvedObject":{"kind":"Pod","namespace":"shop","name":"web-0","uid":"u","apiVersion":"v1"},)"
            R"("reason":"Scheduled","message":"Successfully assigned shop/web-0 to n1",)"
            R"("source":{"component":"default-scheduler"},"firstTimestamp":"2026-01-02T03:04:05Z",)"
            R"("lastTimestamp":"2026-01-02T03:04:05Z","count":1,"type":"Normal"})");
  EXPECT_EQ(sent[1].target, "/api/v1/namespaces/shop/events/web-0.1886caf223f1ff15");
  EXPECT_EQ(sent[1].body, R"({"count":2,"lastTimestamp":"2026-01-02T03:04:05Z"})");
  EXPECT_EQ(sent[1].status, 200);
}

}  // namespace
}  // namespace berth::tests
