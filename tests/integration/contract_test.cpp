// SPDX-License-Identifier: Apache-2.0
// What berth counts on in a Kubernetes API server. The same tests run against the test server and, when
// KUBEBUILDER_ASSETS names a directory with kube-apiserver and etcd, against those: so the stand-in cannot drift.
#include <gtest/gtest.h>

#include <future>
#include <random>

#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/failover_check.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "cluster/kube/write/event_recorder.hpp"
#include "cluster/kube/write/kube_writer.hpp"
#include "cluster/quiet_sink.hpp"
#include "net/http_client.hpp"
#include "support/api_server/api_server.hpp"
#include "support/api_server/real_api_server.hpp"
#include "support/rich_objects.hpp"
#include "support/send_and_wait.hpp"
#include "text/parse.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
constexpr std::chrono::seconds k_patience{60};

/// One server for all tests of a kind: starting a real one takes seconds.
class Servers {
 public:
  static std::string kubeconfig(bool real) {
    static const auto k_test = std::make_unique<ApiServer>();
    if (!real) return k_test->kubeconfig();
    static const std::unique_ptr<RealApiServer> k_real = RealApiServer::start();
    return k_real == nullptr ? "" : k_real->kubeconfig();
  }
};

class ContractTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const std::string text = Servers::kubeconfig(GetParam());
    if (text.empty()) GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set";
    text::Diagnostics problems;
    auto config = read_kubeconfig(text, "kubeconfig", {}, problems);
    ASSERT_TRUE(config) << problems.render();
    endpoint = *cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
    net::HttpClientOptions unlimited;
    unlimited.qps = -1;
    client = std::make_unique<net::HttpClient>(threads, endpoint, unlimited);
    // A real server takes its time to start.
    const auto end = std::chrono::steady_clock::now() + k_patience;
    while (get("/readyz").error_code != "" && std::chrono::steady_clock::now() < end) {
    }
    // Every test has names of its own.
    prefix = "t" + std::to_string(clock.wall_ns() % 1'000'000'000'000);
    create("/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + prefix + "\"}}");
  }

  struct Answer {
    json::value body;
    std::string error_code, error_message;
    bool ok() const { return error_code.empty(); }
  };
  Answer send(net::Method method, const std::string& target, const std::string& body = {},
              const std::string& content_type = "application/json", int retries = 5) {
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.content_type = content_type;
    request.retry = {retries, std::chrono::milliseconds(200), 2, false};
    Result<std::string> text = cluster::kube::body_of(send_and_wait(*client, std::move(request)));
    if (!text.ok()) return {{}, std::string(error_name(text.error().code)), text.error().message};
    boost::system::error_code not_json;
    return {json::parse(*text, not_json), {}, {}};
  }
  Answer get(const std::string& target) { return send(net::Method::get, target); }
  Result<net::Response> get_as(const std::string& target, const std::string& accept) {
    net::Request request;
    request.target = target;
    request.accept = accept;
    return send_and_wait(*client, std::move(request));
  }
  Answer create(const std::string& target, const std::string& body) { return send(net::Method::post, target, body); }
  std::string pods() const { return "/api/v1/namespaces/" + prefix + "/pods"; }
  Answer create_pod(const std::string& name, const std::string& more_spec = "") {
    return create(pods(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                              R"("},"spec":{"containers":[{"name":"c","image":"i"}])" + more_spec + "}}");
  }
  Answer bind(const std::string& name, const std::string& node, const std::string& uid = "") {
    return create(pods() + "/" + name + "/binding", R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" +
                                                        name + "\"" + (uid.empty() ? "" : ",\"uid\":\"" + uid + "\"") +
                                                        R"(},"target":{"kind":"Node","name":")" + node + "\"}}");
  }

  SystemClock clock;
  net::IoThreads threads{2};
  std::shared_ptr<net::Endpoint> endpoint;
  std::unique_ptr<net::HttpClient> client;
  std::string prefix;
};

TEST_P(ContractTest, ANewPodHasWhatAServerFillsIn) {
  const Answer made = create_pod("a");
  ASSERT_TRUE(made.ok()) << made.error_message;
  EXPECT_EQ(text_at(made.body, "/spec/schedulerName"), "default-scheduler");
  EXPECT_EQ(text_at(made.body, "/status/phase"), "Pending");
  EXPECT_EQ(made.body.at("spec").at("priority").as_int64(), 0);
  EXPECT_FALSE(text_at(made.body, "/metadata/uid").empty());
  EXPECT_EQ(create_pod("a").error_code, "already_exists");
  const Answer gated = create_pod("gated", R"(,"schedulingGates":[{"name":"g"}])");
  EXPECT_EQ(text_at(gated.body, "/status/conditions/0/reason"), "SchedulingGated");
  EXPECT_EQ(text_at(gated.body, "/status/conditions/0/message"),
            "Scheduling is blocked due to non-empty scheduling gates");
}

TEST_P(ContractTest, ABindingSetsNodeAndConditionAndIsRefusedTwice) {
  const std::string uid = text_at(create_pod("a").body, "/metadata/uid");
  const Answer other = bind("a", "n1", "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(other.error_code, "conflict");
  EXPECT_TRUE(bind("a", "n1", uid).ok());
  const json::value now = get(pods() + "/a").body;
  EXPECT_EQ(text_at(now, "/spec/nodeName"), "n1");
  EXPECT_EQ(text_at(now, "/status/conditions/0/type"), "PodScheduled");
  EXPECT_EQ(text_at(now, "/status/conditions/0/status"), "True");
  const Answer twice = bind("a", "n2", uid);
  EXPECT_EQ(twice.error_code, "conflict");
  EXPECT_NE(twice.error_message.find("pod a is already assigned to node \"n1\""), std::string::npos)
      << twice.error_message;
  EXPECT_EQ(bind("none", "n1").error_code, "not_found");
}

TEST_P(ContractTest, AStatusPatchMergesConditionsByType) {
  const std::string uid = text_at(create_pod("a").body, "/metadata/uid");
  const auto patch = [&](const std::string& body) {
    return send(net::Method::patch, pods() + "/a/status", body, "application/strategic-merge-patch+json");
  };
  EXPECT_TRUE(patch(R"({"status":{"conditions":[{"type":"Other","status":"True"}],"nominatedNodeName":"n1"}})").ok());
  const Answer second = patch(
      R"({"metadata":{"uid":")" + uid +
      R"("},"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"m",)"
      R"("lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":1}],"nominatedNodeName":null}})");
  ASSERT_TRUE(second.ok()) << second.error_message;
  EXPECT_EQ(second.body.at("status").at("conditions").as_array().size(), 2U);
  EXPECT_EQ(text_at(second.body, "/status/nominatedNodeName"), "");
  const Answer other =
      patch(R"({"metadata":{"uid":"00000000-0000-0000-0000-000000000000"},"status":{"nominatedNodeName":"n"}})");
  EXPECT_EQ(other.error_code, "invalid");
  EXPECT_NE(other.error_message.find("metadata.uid"), std::string::npos) << other.error_message;
}

TEST_P(ContractTest, ListsComeInPages) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(create_pod("p" + std::to_string(i)).ok());
  const json::value first = get(pods() + "?limit=2").body;
  EXPECT_EQ(first.at("items").as_array().size(), 2U);
  EXPECT_EQ(text_at(first, "/kind"), "PodList");
  const std::string next = text_at(first, "/metadata/continue");
  ASSERT_FALSE(next.empty());
  const json::value rest = get(pods() + "?limit=10&continue=" + net::percent_encode(next)).body;
  EXPECT_EQ(rest.at("items").as_array().size(), 3U);
  EXPECT_EQ(text_at(rest, "/metadata/continue"), "");
}

TEST_P(ContractTest, AVersionFromTheFutureIsRefusedAsTooLarge) {
  const Answer refused = send(net::Method::get, "/api/v1/pods?resourceVersion=99999999999", {}, "application/json", 0);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.error_message.find("Too large resource version"), std::string::npos) << refused.error_message;
}

TEST_P(ContractTest, ALeaseIsWrittenOnlyFromItsNewestVersion) {
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/" + prefix + "/leases";
  EXPECT_EQ(get(path + "/l").error_code, "not_found");
  const std::string spec =
      R"("spec":{"holderIdentity":"me","leaseDurationSeconds":15,"acquireTime":"2026-01-02T03:04:05.123456Z",)"
      R"("renewTime":"2026-01-02T03:04:05.123456Z","leaseTransitions":0}})";
  const Answer made =
      create(path, R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"},)" + spec);
  ASSERT_TRUE(made.ok()) << made.error_message;
  EXPECT_EQ(text_at(made.body, "/spec/renewTime"), "2026-01-02T03:04:05.123456Z");
  const std::string version = text_at(made.body, "/metadata/resourceVersion");
  const auto put = [&](const std::string& holder) {
    std::string body = R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","namespace":")" +
                       prefix + R"(","resourceVersion":")" + version + "\"}," + spec;
    body.replace(body.find("\"me\""), 4, "\"" + holder + "\"");
    return send(net::Method::put, path + "/l", body);
  };
  EXPECT_TRUE(put("you").ok());
  EXPECT_EQ(put("another").error_code, "conflict");
}

TEST_P(ContractTest, EventsAreCreatedAndBecomeASeries) {
  const std::string uid = text_at(create_pod("a").body, "/metadata/uid");
  net::HttpClientOptions unlimited;
  unlimited.qps = -1;
  EventRecorder events(
      threads, endpoint, clock, [](std::string_view, std::string_view) { return model::PodPtr(); }, "host", unlimited);
  cluster::EventRecord event;
  event.warning = true;
  event.regarding = {prefix, "a", uid};
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.note = "0/0 nodes are available";
  event.controller = "default-scheduler";
  for (int i = 0; i < 2; ++i) {
    std::promise<Status> promise;
    events.record(event, [&](Status status) { promise.set_value(std::move(status)); });
    const Status status = promise.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  const json::value list = get("/apis/events.k8s.io/v1/namespaces/" + prefix + "/events").body;
  ASSERT_EQ(list.at("items").as_array().size(), 1U);
  EXPECT_EQ(list.at("items").as_array()[0].at("series").at("count").as_int64(), 2);
}

/// JSON with members by name, without those that are null, without kind and version at the top.
std::string comparable(const json::value& value, bool top = true) {
  if (value.is_array()) {
    std::string out = "[";
    for (const json::value& element : value.as_array()) out += comparable(element, false) + ",";
    return out + "]";
  }
  if (!value.is_object()) return json::serialize(value);
  std::map<std::string, std::string> members;
  for (const auto& [key, member] : value.as_object())
    if (!member.is_null() && !(top && (key == "kind" || key == "apiVersion")))
      members[std::string(key)] = comparable(member, false);
  std::string out = "{";
  for (const auto& [key, member] : members) out += key + ":" + member + ",";
  return out + "}";
}

TEST_P(ContractTest, ProtobufSaysWhatJsonSays) {
  const std::string both = std::string(k_protobuf) + ",application/json";
  for (const RichObject& object : rich_objects(prefix, prefix)) {
    const Answer made = create(object.collection, object.text);
    ASSERT_TRUE(made.ok()) << object.resource << ": " << made.error_message;
    const decode::WireLayout layout = decode::wire_layout_of(object.resource);
    // As an item of a list, by name: other tests' objects without a namespace are there too.
    const auto listed = [&](const std::string& accept) {
      std::map<std::string, std::string> items;
      const Result<net::Response> answer = get_as(object.collection, accept);
      EXPECT_TRUE(answer.ok() && answer->status == 200);
      EXPECT_EQ(answer->content_type.starts_with(k_protobuf), accept == both);
      const auto body =
          make_list_body(answer->content_type, layout, "list",
                         [&](const text::Document* item, const decode::TypeHint&, const text::Diagnostics& problems) {
                           ASSERT_NE(item, nullptr) << problems.render();
                           json::value kept = json::parse(text::to_json(item->root()));
                           kept.as_object()["metadata"].as_object().erase("managedFields");
                           items[text_at(kept, "/metadata/name")] = comparable(kept);
                         });
      EXPECT_TRUE(body->add(answer->body).ok());
      EXPECT_TRUE(body->end().ok());
      return items;
    };
    const auto from_json = listed("application/json"), from_protobuf = listed(both);
    ASSERT_EQ(from_json.count(prefix), 1U);
    EXPECT_EQ(from_json, from_protobuf) << object.resource;
    // And alone.
    const Result<net::Response> alone = get_as(object.collection + "/" + prefix, both);
    ASSERT_TRUE(alone.ok());
    text::Diagnostics problems;
    const auto documents = parse_protobuf_object(alone->body, "object", problems);
    ASSERT_EQ(documents.size(), 1U) << problems.render();
    EXPECT_EQ(comparable(json::parse(text::to_json(documents.front().root()))), from_json.at(prefix));
  }
  const Result<net::Response> refused = get_as(pods() + "/none", both);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(api_error(refused->status, refused->body).code, ErrorCode::not_found);
  EXPECT_EQ(api_error(refused->status, refused->body).message, "pods \"none\" not found");
}

/// Counts what a reader delivers of one namespace.
class Counting final : public cluster::QuietSink {
 public:
  Counting(std::string ns, const SymbolTable& symbols) : ns_(std::move(ns)), symbols_(symbols) {}
  void pod_added(const model::PodPtr& pod) override { note(pod, "+"); }
  void pod_updated(const model::PodPtr&, const model::PodPtr& pod) override {
    if (pod->node_name != k_no_symbol) note(pod, "@" + std::string(symbols_.text(pod->node_name)) + " ");
  }
  void pod_deleted(const model::PodPtr& pod) override { note(pod, "-"); }
  void synced() override { note_text("synced"); }
  bool wait(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, k_patience, [&] { return seen_.count(what) != 0; });
  }

 private:
  void note(const model::PodPtr& pod, const std::string& what) {
    if (pod->ns == ns_) note_text(what + pod->name);
  }
  void note_text(const std::string& text) {
    const std::lock_guard lock(mutex_);
    ++seen_[text];
    changed_.notify_all();
  }
  const std::string ns_;
  const SymbolTable& symbols_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> seen_;
};

TEST_P(ContractTest, TheReaderFollowsInEveryWay) {
  ASSERT_TRUE(create_pod("before").ok());
  for (const auto& [streaming, protobuf] : {std::pair(true, false), {false, false}, {true, true}, {false, true}}) {
    const std::string name = std::string(streaming ? "streamed" : "listed") + (protobuf ? "-protobuf" : "");
    SymbolTable symbols;
    net::IoThreads io(2);
    Counting sink(prefix, symbols);
    KubeReaderOptions options;
    options.client.qps = -1;
    options.reflector.streaming_lists = streaming;
    if (protobuf) options.reflector.accept = std::string(k_protobuf) + ",application/json";
    KubeReader reader(io, endpoint, symbols, options);
    reader.start(sink);
    EXPECT_TRUE(sink.wait("synced"));
    EXPECT_TRUE(sink.wait("+before"));
    ASSERT_TRUE(create_pod(name).ok());
    EXPECT_TRUE(sink.wait("+" + name));
    ASSERT_TRUE(bind(name, "n1").ok());
    EXPECT_TRUE(sink.wait("@n1 " + name));
    EXPECT_TRUE(send(net::Method::del, pods() + "/" + name, R"({"gracePeriodSeconds":0})").ok());
    EXPECT_TRUE(sink.wait("-" + name));
    // A pod that finishes leaves the selection.
    ASSERT_TRUE(create_pod(name + "-done").ok());
    EXPECT_TRUE(sink.wait("+" + name + "-done"));
    EXPECT_TRUE(send(net::Method::patch, pods() + "/" + name + "-done/status", R"({"status":{"phase":"Succeeded"}})",
                     "application/merge-patch+json")
                    .ok());
    EXPECT_TRUE(sink.wait("-" + name + "-done"));
    reader.stop();
    io.stop();
  }
}

TEST_P(ContractTest, WhatBecameOfWaitingPodsIsFoundOut) {
  std::vector<model::PodPtr> known;
  for (const char* name : {"placed", "deleted", "waiting"}) {
    const Answer made = create_pod(name);
    ASSERT_TRUE(made.ok());
    auto pod = std::make_shared<model::Pod>();
    pod->ns = prefix;
    pod->name = name;
    pod->uid = text_at(made.body, "/metadata/uid");
    known.push_back(std::move(pod));
  }
  ASSERT_TRUE(bind("placed", "n1").ok());
  ASSERT_TRUE(send(net::Method::del, pods() + "/deleted", R"({"gracePeriodSeconds":0})").ok());

  SymbolTable symbols;
  std::vector<std::string> told;
  PlacementCheckCalls calls;
  calls.known = [&] { return known; };
  calls.changed = [&](decode::Decoded now) {
    const auto& pod = *std::get<model::PodPtr>(now);
    told.push_back(pod.name + " is on " + std::string(symbols.text(pod.node_name)));
  };
  calls.is_gone = [&](const model::PodPtr& pod) { told.push_back(pod->name + " is gone"); };
  PlacementCheck check(threads, endpoint, "status.phase!=Succeeded,status.phase!=Failed", calls,
                       std::make_shared<decode::ObjectDecoder>(symbols), net::HttpClientOptions{});
  std::promise<bool> done;
  check.run([&](bool is_complete) { done.set_value(is_complete); });
  std::future<bool> complete = done.get_future();
  ASSERT_EQ(complete.wait_for(k_patience), std::future_status::ready);
  EXPECT_TRUE(complete.get());
  EXPECT_EQ(told, (std::vector<std::string>{"placed is on n1", "deleted is gone"}));
}

INSTANTIATE_TEST_SUITE_P(Servers, ContractTest, testing::Values(false, true),
                         [](const auto& real) { return real.param ? "real" : "test"; });

}  // namespace
}  // namespace berth::tests
