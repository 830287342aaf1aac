// SPDX-License-Identifier: Apache-2.0
// `berth run` as a process, with stand-ins for what works with a scheduler: the controller that provisions and
// binds volumes, and the kubelet that ends pods. Against the test server and, with KUBEBUILDER_ASSETS, against a real
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cluster/quiet_sink.hpp"
#include "support/api_server/api_server.hpp"
#include "support/api_server/real_api_server.hpp"
#include "support/child_process.hpp"
#include "support/send_and_wait.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
constexpr std::chrono::seconds k_patience{60};
constexpr const char* k_selected_node = "volume.kubernetes.io/selected-node";

std::string claims_path(const std::string& ns) { return "/api/v1/namespaces/" + ns + "/persistentvolumeclaims"; }

/// What happens in one namespace, in order; and the two stand-ins.
class Stage final : public cluster::QuietSink {
 public:
  Stage(net::HttpClient& client, const SymbolTable& symbols, std::string ns)
      : client_(client), symbols_(symbols), ns_(std::move(ns)) {}

  void pod_added(const model::PodPtr& pod) override { see(pod); }
  void pod_updated(const model::PodPtr&, const model::PodPtr& pod) override { see(pod); }
  void pod_deleted(const model::PodPtr& pod) override {
    if (pod->ns == ns_) note("gone " + pod->name);
  }
  void object_added(const model::ObjectPtr& object) override { see(*object); }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override { see(*object); }
  void synced() override { note("synced"); }

  /// Waits for something that begins with these words.
  bool wait(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, k_patience,
                             [&] { return place_of(what) != static_cast<std::ptrdiff_t>(seen_.size()); });
  }
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  /// Where in the order it stands.
  std::ptrdiff_t place(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return place_of(what);
  }

 private:
  std::ptrdiff_t place_of(const std::string& what) const {
    return std::find_if(seen_.begin(), seen_.end(), [&](const std::string& line) { return line.starts_with(what); }) -
           seen_.begin();
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (std::find(seen_.begin(), seen_.end(), what) == seen_.end()) seen_.push_back(what);
    changed_.notify_all();
  }
  void send(net::Method method, const std::string& target, const std::string& body) {
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.content_type = method == net::Method::patch ? "application/merge-patch+json" : "application/json";
    client_.send(request, [this, target](Result<net::Response> response) {
      const Result<std::string> answer = cluster::kube::body_of(std::move(response));
      if (!answer.ok() && answer.error().code != ErrorCode::stopped)
        note("refused " + target + ": " + answer.error().message);
    });
  }

  void see(const model::PodPtr& pod) {
    if (pod->ns != ns_) return;
    if (pod->nominated_node != k_no_symbol)
      note("nominated " + pod->name + " " + std::string(symbols_.text(pod->nominated_node)));
    for (const model::PodCondition& condition : pod->conditions)
      if (condition.type == "DisruptionTarget")
        note("disrupted " + pod->name + " " + condition.reason);
      else if (condition.type == "PodScheduled" && condition.status == "False")
        note("waits " + pod->name);
    if (pod->node_name != k_no_symbol) note("bound " + pod->name + " " + std::string(symbols_.text(pod->node_name)));
    // The kubelet: a pod that is to end has ended.
    if (pod->deleting && pod->node_name != k_no_symbol && ended_.insert(pod->uid).second)
      send(net::Method::del, "/api/v1/namespaces/" + ns_ + "/pods/" + pod->name,
           R"({"gracePeriodSeconds":0,"preconditions":{"uid":")" + pod->uid.text() + "\"}}");
  }

  void see(const model::Object& object) {
    const json::value value = json::parse(object.json);
    if (object.resource == "core/v1/persistentvolumes" && text_at(value, "/spec/claimRef/namespace") == ns_) {
      const std::string claim = text_at(value, "/spec/claimRef/name");
      note("reserved " + object.name + " " + claim);
      bind_claim(claim, object.name);
    }
    if (object.resource != "core/v1/persistentvolumeclaims" || object.ns != ns_) return;
    if (!text_at(value, "/spec/volumeName").empty()) return;
    const json::value* const annotations = value.at("metadata").as_object().if_contains("annotations");
    const json::value* const node =
        annotations == nullptr ? nullptr : annotations->as_object().if_contains(k_selected_node);
    if (node == nullptr) return;
    note("selected " + object.name + " " + std::string(node->as_string()));
    // The provisioner makes the volume where the pod will be; then the claim is bound to it.
    const std::string volume = ns_ + "-" + object.name;
    if (!made_.insert(volume).second) return;
    send(
        net::Method::post, "/api/v1/persistentvolumes",
        R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + volume +
            R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":")" +
            text_at(value, "/spec/storageClassName") +
            R"(","csi":{"driver":"csi.example.com","volumeHandle":"h"},"persistentVolumeReclaimPolicy":"Delete",)"
            R"("claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":")" +
            ns_ + R"(","name":")" + object.name + R"(","uid":")" + object.uid +
            R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname",)"
            R"("operator":"In","values":[")" +
            std::string(node->as_string()) + R"("]}]}]}}}})");
  }
  void bind_claim(const std::string& claim, const std::string& volume) {
    if (!bound_.insert(claim).second) return;
    send(net::Method::patch, claims_path(ns_) + "/" + claim,
         R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":")" + volume +
             "\"}}");
    send(net::Method::patch, claims_path(ns_) + "/" + claim + "/status", R"({"status":{"phase":"Bound"}})");
  }

  net::HttpClient& client_;
  const SymbolTable& symbols_;
  const std::string ns_;
  // Of the reader's calls, which come one at a time.
  std::set<std::string> ended_, made_, bound_;

  std::mutex mutex_;  // guards both below
  std::condition_variable changed_;
  std::vector<std::string> seen_;
};

class LiveTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam())
      real = RealApiServer::start();
    else
      test = std::make_unique<ApiServer>();
    if (GetParam() && real == nullptr) GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set";
    const std::string kubeconfig = real ? real->kubeconfig() : test->kubeconfig();
    text::Diagnostics problems;
    auto config = read_kubeconfig(kubeconfig, "kubeconfig", {}, problems);
    ASSERT_TRUE(config) << problems.render();
    const auto endpoint = *cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
    net::HttpClientOptions unlimited;
    unlimited.qps = -1;
    client = std::make_unique<net::HttpClient>(threads, endpoint, unlimited);
    const auto end = std::chrono::steady_clock::now() + k_patience;
    while (!send(net::Method::get, "/readyz", "").ok() && std::chrono::steady_clock::now() < end) {
    }
    make("/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"stage"}})");
    stage = std::make_unique<Stage>(*client, symbols, "stage");
    KubeReaderOptions options;
    options.resources = {"core/v1/persistentvolumes", "core/v1/persistentvolumeclaims"};
    options.client.qps = -1;
    reader = std::make_unique<KubeReader>(threads, endpoint, symbols, options);
    reader->start(*stage);
    ASSERT_TRUE(stage->wait("synced"));
  }
  void start_berth(const std::string& configuration = "") {
    const std::string path = directory.write("kubeconfig", real ? real->kubeconfig() : test->kubeconfig());
    std::vector<std::string> command{std::getenv("BERTH"),  "run",
                                     "--plugin-dir",        std::getenv("BERTH_PLUGIN_DIR"),
                                     "--secure-port=0",     "--kube-api-qps=-1",
                                     "--leader-elect=false"};
    if (configuration.empty())
      command.insert(command.end(), {"--kubeconfig", path});
    else
      command.insert(command.end(),
                     {"--config", directory.write("configuration.yaml", "clientConnection: {qps: -1, kubeconfig: " +
                                                                            path + "}\n" + configuration)});
    berth = std::make_unique<ChildProcess>(command, directory.path() + "/log");
  }
  void TearDown() override {
    if (HasFailure() && berth) {
      for (const std::string& line : stage->seen()) std::cerr << line << '\n';
      for (const std::string& path : {claims_path("stage"), std::string("/api/v1/persistentvolumes"),
                                      std::string("/api/v1/namespaces/stage/pods")})
        std::cerr << path << ": " << text_of(send(net::Method::get, path, "")) << "\n";
      std::cerr << berth->log();
    }
    if (reader) reader->stop();
    if (client) client->stop();
  }

  static std::string text_of(const Result<std::string>& answer) {
    return answer.ok() ? *answer : answer.error().message;
  }
  Result<std::string> send(net::Method method, const std::string& target, const std::string& body,
                           const std::string& type = "application/json") {
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.content_type = type;
    request.retry = {5, std::chrono::milliseconds(200), 2, false};
    return cluster::kube::body_of(send_and_wait(*client, std::move(request)));
  }
  void make(const std::string& collection, const std::string& text) {
    const Result<std::string> made = send(net::Method::post, collection, text);
    EXPECT_TRUE(made.ok()) << made.error().message << "\n" << text;
  }
  void make_node(const std::string& name) {
    make("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
                              R"(","labels":{"kubernetes.io/hostname":")" + name +
                              R"("}},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"110"},)"
                              R"("capacity":{"cpu":"2","memory":"8Gi","pods":"110"}}})");
  }
  void make_pod(const std::string& name, const std::string& labels, const std::string& spec) {
    make("/api/v1/namespaces/stage/pods", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                                              R"(","labels":)" + labels +
                                              R"(},"spec":{"containers":[{"name":"c","image":"i","resources":)"
                                              R"({"requests":{"cpu":"2"}}}])" +
                                              spec + "}}");
  }
  void make_claim(const std::string& name, const std::string& storage_class) {
    make(claims_path("stage"), R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")" + name +
                                   R"("},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":)"
                                   R"("1Gi"}},"storageClassName":")" +
                                   storage_class + "\"}}");
  }
  void make_class(const std::string& name, const std::string& provisioner) {
    make("/apis/storage.k8s.io/v1/storageclasses",
         R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")" + name +
             R"("},"provisioner":")" + provisioner + R"(","volumeBindingMode":"WaitForFirstConsumer"})");
  }
  static std::string with_claim(const std::string& claim) {
    return R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim + "\"}}]";
  }
  /// The node that a pod was seen on; empty: none yet.
  std::string node_of(const std::string& pod) {
    for (const std::string& line : stage->seen())
      if (line.starts_with("bound " + pod + " ")) return line.substr(7 + pod.size());
    return {};
  }

  SystemClock clock;
  SymbolTable symbols;
  TemporaryDirectory directory;
  std::unique_ptr<ApiServer> test;
  std::unique_ptr<RealApiServer> real;
  net::IoThreads threads{2};
  std::unique_ptr<net::HttpClient> client;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<KubeReader> reader;
  std::unique_ptr<ChildProcess> berth;
};

TEST_P(LiveTest, AVolumeIsProvisionedWhereItsFirstConsumerWillBe) {
  start_berth();
  make_class("late", "csi.example.com");
  make_claim("data", "late");
  make_pod("web", "{}", with_claim("data"));
  make_node("n1");
  ASSERT_TRUE(stage->wait("selected data n1"));
  ASSERT_TRUE(stage->wait("bound web n1"));
  // Told where it will be before the wait, bound after the volume was there.
  EXPECT_LT(stage->place("nominated web n1"), stage->place("bound web n1"));
  EXPECT_LT(stage->place("selected data n1"), stage->place("reserved stage-data data"));
  EXPECT_LT(stage->place("reserved stage-data data"), stage->place("bound web n1"));
}

TEST_P(LiveTest, AVolumeThatIsThereLeadsItsFirstConsumerToItsNode) {
  start_berth();
  make_class("local", "kubernetes.io/no-provisioner");
  make(
      "/api/v1/persistentvolumes",
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"},"spec":{"capacity":{"storage":"10Gi"},)"
      R"("accessModes":["ReadWriteOnce"],"storageClassName":"local","local":{"path":"/mnt"},"nodeAffinity":{"required":)"
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n2"]}]}]}}}})");
  // The controller says of a volume that it may be taken.
  const Result<std::string> available = send(net::Method::patch, "/api/v1/persistentvolumes/disk/status",
                                             R"({"status":{"phase":"Available"}})", "application/merge-patch+json");
  ASSERT_TRUE(available.ok()) << available.error().message;
  make_claim("data", "local");
  make_node("n1");
  make_node("n2");
  make_pod("web", "{}", with_claim("data"));
  ASSERT_TRUE(stage->wait("bound web n2"));
  EXPECT_LT(stage->place("reserved disk data"), stage->place("bound web n2"));
}

TEST_P(LiveTest, ThreePrioritiesPreemptOneAnotherAndSpareWhatABudgetProtects) {
  start_berth();
  for (const auto& [name, value] : {std::pair("low", 10), {"mid", 20}, {"high", 30}})
    make("/apis/scheduling.k8s.io/v1/priorityclasses",
         R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":")" + std::string(name) +
             R"("},"value":)" + std::to_string(value) + "}");
  const auto of_class = [](const std::string& name, int value) {
    return R"(,"priorityClassName":")" + name + R"(","priority":)" + std::to_string(value);
  };
  // A budget that allows no disruption, as the controller would have written it.
  const std::string status =
      R"("status":{"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1,"observedGeneration":1})";
  const std::string budgets = "/apis/policy/v1/namespaces/stage/poddisruptionbudgets";
  make(budgets, R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"keep"},)"
                R"("spec":{"minAvailable":1,"selector":{"matchLabels":{"guarded":"yes"}}}})");
  ASSERT_TRUE(
      send(net::Method::patch, budgets + "/keep/status", "{" + status + "}", "application/merge-patch+json").ok());
  make_node("n1");
  make_node("n2");
  make_pod("low-guarded", R"({"guarded":"yes"})", of_class("low", 10));
  ASSERT_TRUE(stage->wait("bound low-guarded "));
  make_pod("low-free", "{}", of_class("low", 10));
  ASSERT_TRUE(stage->wait("bound low-guarded n1") || stage->wait("bound low-guarded n2"));
  ASSERT_TRUE(stage->wait("bound low-free " + std::string(node_of("low-guarded") == "n1" ? "n2" : "n1")));
  const std::string guarded = node_of("low-guarded"), free = node_of("low-free");

  make_pod("mid", "{}", of_class("mid", 20));
  ASSERT_TRUE(stage->wait("bound mid " + free));
  EXPECT_LT(stage->place("disrupted low-free PreemptionByScheduler"), stage->place("gone low-free"));
  EXPECT_LT(stage->place("gone low-free"), stage->place("bound mid " + free));
  EXPECT_LT(stage->place("nominated mid " + free), stage->place("bound mid " + free));

  // The protected pod has the lower priority; a violated budget counts for more.
  make_pod("high", "{}", of_class("high", 30));
  ASSERT_TRUE(stage->wait("bound high " + free));
  EXPECT_LT(stage->place("disrupted mid PreemptionByScheduler"), stage->place("bound high " + free));

  // Where there is no other way, the budget has to give.
  make_pod("mid-again", "{}", of_class("mid", 20));
  ASSERT_TRUE(stage->wait("bound mid-again " + guarded));
  EXPECT_LT(stage->place("gone low-guarded"), stage->place("bound mid-again " + guarded));
  for (const std::string& line : stage->seen()) EXPECT_FALSE(line.starts_with("gone high")) << line;
}

TEST_P(LiveTest, TwoGangsCompeteForNodesAndNoneHoldsHalf) {
  const std::string groups = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/stage/podgroups";
  if (real) {
    make(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{)"
        R"("name":"podgroups.scheduling.x-k8s.io","annotations":{"api-approved.kubernetes.io":"unapproved, for a test"}},)"
        R"("spec":{"group":"scheduling.x-k8s.io","scope":"Namespaced","names":{"kind":"PodGroup","plural":"podgroups"},)"
        R"("versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
        R"("x-kubernetes-preserve-unknown-fields":true}}}]}})");
    const auto end = std::chrono::steady_clock::now() + k_patience;
    while (!send(net::Method::get, groups, "").ok()) ASSERT_LT(std::chrono::steady_clock::now(), end);
  } else {
    test->store().add_resource({"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true});
  }
  for (const char* name : {"blue", "green"})
    make(groups, R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"name":")" +
                     std::string(name) + R"("},"spec":{"minMember":2}})");
  // One member a node: the second gang finds one node.
  for (const char* name : {"n1", "n2", "n3"}) make_node(name);
  start_berth(R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - plugins:
      multiPoint: {enabled: [{name: Coscheduling}]}
      queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
)");
  for (const char* member : {"0", "1"})
    for (const char* name : {"blue", "green"})
      make_pod(std::string(name) + member, R"({"scheduling.x-k8s.io/pod-group":")" + std::string(name) + "\"}", "");
  ASSERT_TRUE(stage->wait("bound "));
  const auto is_bound = [&](const std::string& name) { return !node_of(name).empty(); };
  const std::string first = is_bound("blue0") || is_bound("blue1") ? "blue" : "green";
  const std::string second = first == "blue" ? "green" : "blue";
  for (const char* member : {"0", "1"}) ASSERT_TRUE(stage->wait("bound " + first + member + " "));
  for (const char* member : {"0", "1"}) {
    EXPECT_TRUE(stage->wait("waits " + second + member)) << "no condition says why it waits";
    EXPECT_FALSE(is_bound(second + member));
  }
  for (const char* member : {"0", "1"})
    ASSERT_TRUE(send(net::Method::del, "/api/v1/namespaces/stage/pods/" + first + member, "{}").ok());
  for (const char* member : {"0", "1"}) ASSERT_TRUE(stage->wait("bound " + second + member + " "));
  // With three nodes, the second gang may start when one of the first two pods is gone.
  EXPECT_LT(std::min(stage->place("gone " + first + "0"), stage->place("gone " + first + "1")),
            std::min(stage->place("bound " + second + "0"), stage->place("bound " + second + "1")));
}

INSTANTIATE_TEST_SUITE_P(Servers, LiveTest, testing::Values(false, true),
                         [](const auto& real) { return real.param ? "real" : "test"; });

}  // namespace
}  // namespace berth::tests
