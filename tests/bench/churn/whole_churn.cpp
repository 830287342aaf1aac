// SPDX-License-Identifier: Apache-2.0
#include "bench/churn/whole_churn.hpp"

#include <spdlog/fmt/fmt.h>

#include <condition_variable>
#include <deque>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cluster/kube/auth/credentials.hpp"
#include "net/http_client.hpp"
#include "support/api_server/api_server.hpp"
#include "support/child_process.hpp"

namespace berth::bench {
namespace {

namespace json = boost::json;
using tests::ApiResource;

constexpr std::size_t k_ahead = 100;         // pods that wait for a decision
constexpr std::size_t k_impossible = 50;     // pods that fit nowhere, at once
constexpr std::size_t k_events_kept = 2000;  // in the server
constexpr std::int64_t k_pods_of_namespace = 10;
constexpr std::chrono::minutes k_patience{1};  // shorter than the lease, which a busy machine must not end

struct Name {
  std::string ns, name;
};

/// What the replicas wrote, as the server hears of it.
class Writes {
 public:
  void take(const tests::SeenWrite& write) {
    if (write.method != "POST" || write.status != 201) return;
    const bool binds = write.target.ends_with("/binding");
    const std::size_t ns_at = write.target.find("/namespaces/");
    if (ns_at == std::string::npos || (!binds && write.target.find("/events") == std::string::npos)) return;
    const std::size_t ns = ns_at + 12, ns_end = write.target.find('/', ns);
    Name name{write.target.substr(ns, ns_end - ns), {}};
    if (binds) {
      const std::size_t at = ns_end + 6;  // "/pods/"
      name.name = write.target.substr(at, write.target.rfind('/') - at);
    } else {
      const json::value body = json::parse(write.body);
      name.name = json::value_to<std::string>(body.at("metadata").at("name"));
    }
    const std::lock_guard lock(mutex_);
    (binds ? bound_ : events_).push_back(std::move(name));
    if (binds) some_.notify_one();
  }
  /// Pods that were bound since the last call; waits for one when `must`. Nothing when there is none for a minute.
  std::optional<std::deque<Name>> bound(bool must) {
    std::unique_lock lock(mutex_);
    if (must && !some_.wait_for(lock, k_patience, [&] { return !bound_.empty(); })) return std::nullopt;
    return std::exchange(bound_, {});
  }
  std::deque<Name> old_events() {
    const std::lock_guard lock(mutex_);
    std::deque<Name> out;
    for (; events_.size() > k_events_kept; events_.pop_front()) out.push_back(std::move(events_.front()));
    return out;
  }

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable some_;
  std::deque<Name> bound_, events_;
};

tests::ApiServerOptions server_options(Writes& writes) {
  tests::ApiServerOptions options;
  options.tls = false;
  options.accept_anonymous = true;
  options.gzip_over_bytes = std::size_t{1} << 30;
  options.on_write = [&writes](const tests::SeenWrite& write) { writes.take(write); };
  return options;
}

class Replica {
 public:
  Replica(const WholeChurnOptions& options, const std::string& kubeconfig, const std::string& log)
      : port_(tests::ApiServer().port()),
        process_({options.berth, "run", "--kubeconfig=" + kubeconfig, "--plugin-dir=" + options.plugin_dir,
                  "--kube-api-qps=-1", "--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=100s",
                  "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port_),
                  "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig},
                 log) {}
  std::string log() const { return process_.log(); }
  void expect_alive() {
    if (const auto ended = process_.wait(std::chrono::milliseconds(0)))
      throw std::runtime_error(fmt::format("a replica ended with {}:\n{}", *ended, log().substr(0, 2000)));
  }
  std::string get(const std::string& target) const {
    SystemClock clock;
    cluster::kube::ClientConfig config;
    config.server = *net::parse_url(fmt::format("https://127.0.0.1:{}", port_), "https");
    config.tls.insecure = true;
    config.auth.token = "test-token";
    net::IoThreads threads(1);
    net::HttpClient client(threads,
                           *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }), {});
    net::Request request;
    request.target = target;
    request.accept = "*/*";
    std::promise<Result<net::Response>> promise;
    client.send(request, [&](Result<net::Response> r) { promise.set_value(std::move(r)); });
    Result<net::Response> answer = promise.get_future().get();
    return answer.ok() && answer->status == 200 ? std::move(answer->body) : std::string();
  }
  /// The value of a metric; -1: it is not there.
  static double value_of(const std::string& page, const std::string& name) {
    const std::size_t at = page.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  }
  ReplicaSizes sizes() const {
    ReplicaSizes out;
    std::ifstream status(fmt::format("/proc/{}/status", process_.id()));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) out.rss_bytes = std::stoull(line.substr(6)) * 1024;
    const std::string page = get("/metrics"), sample = "\nberth_table_bytes{table=\"";
    for (std::size_t at = page.find(sample); at != std::string::npos; at = page.find(sample, at + 1)) {
      const std::size_t name = at + sample.size(), end = page.find('"', name);
      out.tables[page.substr(name, end - name)] = static_cast<std::size_t>(std::stod(page.substr(end + 3)));
    }
    if (out.rss_bytes == 0 || out.tables.empty()) throw std::runtime_error("a replica does not tell its sizes");
    return out;
  }

 private:
  const std::uint16_t port_;
  tests::ChildProcess process_;
};

std::string text_of(std::int64_t number, std::int64_t length) {
  std::string out = std::to_string(number);
  out.resize(static_cast<std::size_t>(length), 'x');
  return out;
}

class Cluster {
 public:
  explicit Cluster(const WholeChurnOptions& options) : options_(options) {
    for (const char* ns : {"default", "kube-system"}) create_namespace(ns);
    for (std::int64_t n = 0; n < options_.nodes; ++n)
      server_.create(fmt::format(
          R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}",)"
          R"("topology.kubernetes.io/zone":"z{1}"}}}},"status":{{"allocatable":{{"cpu":"64","memory":"256Gi","pods":"500"}}}}}})",
          n, n % 3));
    const std::string kubeconfig = directory_.write("kubeconfig", server_.kubeconfig());
    leader_.emplace(options_, kubeconfig, directory_.path() + "/leader");
    come(0);
    settle();
    standby_.emplace(options_, kubeconfig, directory_.path() + "/standby");
    wait_for_standby();
  }

  void come(std::int64_t i) {
    if (i % k_pods_of_namespace == 0) next_namespace(i / k_pods_of_namespace);
    const bool impossible = i % 20 == 19;
    server_.create(pod(i, impossible));
    if (impossible)
      impossible_.push_back({ns_of(i), name_of(i)});
    else
      ++waiting_;
    go_on(waiting_ > k_ahead);
    if (i % 50 == 0) report(i);
  }
  void settle() {
    while (waiting_ > 0) go_on(true);
  }
  WholeChurnSizes sizes(std::int64_t pods) {
    settle();
    leader_->expect_alive();
    standby_->expect_alive();
    wait_for_standby();
    return {pods, bound_, leader_->sizes(), standby_->sizes()};
  }

 private:
  static std::string ns_of(std::int64_t i) { return fmt::format("team-{}", i / k_pods_of_namespace); }
  static std::string name_of(std::int64_t i) { return fmt::format("job-{}-x", i); }
  const ApiResource& resource(std::string_view group, std::string_view version, std::string_view plural) {
    return *server_.store().find(group, version, plural);
  }
  void create_namespace(const std::string& name) {
    server_.create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + "\"}}");
  }
  void remove(const ApiResource& of, const Name& what) {
    static const json::value k_at_once = json::parse(R"({"gracePeriodSeconds":0})");
    server_.store().remove(of, what.ns, what.name, k_at_once);
  }

  void next_namespace(std::int64_t number) {
    const std::string ns = fmt::format("team-{}", number);
    create_namespace(ns);
    server_.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"s","namespace":"{0}"}},"spec":{{"selector":{{"app":"app-{0}"}}}}}})",
        ns));
    server_.create(fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"rs-{0}","namespace":"{0}"}},"spec":)"
        R"({{"selector":{{"matchLabels":{{"app":"app-{0}","rs":"rs-{0}"}}}}}}}})",
        ns));
    namespaces_.push_back(ns);
    // Until its last pods have gone.
    if (static_cast<std::int64_t>(namespaces_.size()) <= 2 * options_.alive / k_pods_of_namespace + 20) return;
    const std::string& old = namespaces_.front();
    remove(resource("", "v1", "services"), {old, "s"});
    remove(resource("apps", "v1", "replicasets"), {old, "rs-" + old});
    remove(resource("", "v1", "namespaces"), {"", old});
    namespaces_.pop_front();
  }

  std::string pod(std::int64_t i, bool impossible) const {
    const std::string ns = ns_of(i);
    std::string labels = fmt::format(
        R"("job-name":"job-{0}","controller-uid":"11111111-0000-4000-8000-{0:012d}","app":"app-{1}","rs":"rs-{1}",)"
        R"("example.com/key-{2}":"v")",
        i, ns, i / 100);
    const std::int64_t more = i % 1000 == 11 ? 3000 : i % 200 == 7 ? 300 : 0;
    for (std::int64_t k = 0; k < more; ++k) labels += fmt::format(R"(,"l{}-{}":"v{}")", k, i, k);
    const std::int64_t length = i % 500 == 13 ? 50'000 : i % 50 == 3 ? 2'000 : 20;
    const bool of_job = i % 3 != 1;
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"{1}","labels":{{{2}}},"annotations":)"
        R"({{"example.com/trace":"{3}"}},"ownerReferences":[{{"apiVersion":"{4}","kind":"{5}","name":"{6}","uid":)"
        R"("33333333-0000-4000-8000-{7:012d}","controller":true}}]}},"spec":{{{8}"containers":[{{"name":"c","image":)"
        R"("registry.example.com/job:{9}","resources":{{"requests":{{"cpu":"10m","memory":"16Mi"{10}}}}}}}]}}}})",
        name_of(i), ns, labels, text_of(i, length), of_job ? "batch/v1" : "apps/v1", of_job ? "Job" : "ReplicaSet",
        of_job ? fmt::format("job-{}", i) : "rs-" + ns, i,
        impossible ? fmt::format(R"("nodeSelector":{{"example.com/only-{}":"x"}},)", i) : std::string(), i / 100,
        impossible ? fmt::format(R"(,"example.com/device-{}":"1")", i) : std::string());
  }

  /// Takes what was bound, and lets the oldest go.
  void go_on(bool must) {
    const ApiResource& pods = resource("", "v1", "pods");
    static const json::value k_running = json::parse(R"({"status":{"phase":"Running"}})");
    std::optional<std::deque<Name>> bound = writes_.bound(must);
    if (!bound) throw std::runtime_error("nothing was bound for a minute:\n" + leader_->log().substr(0, 4000));
    for (Name& name : *bound) {
      --waiting_;
      ++bound_;
      server_.store().patch(pods, name.ns, name.name, k_running, false, true);
      alive_.push_back(std::move(name));
    }
    for (; static_cast<std::int64_t>(alive_.size()) > options_.alive; alive_.pop_front()) remove(pods, alive_.front());
    for (; impossible_.size() > k_impossible; impossible_.pop_front()) remove(pods, impossible_.front());
    const ApiResource& events = resource("events.k8s.io", "v1", "events");
    for (const Name& name : writes_.old_events()) remove(events, name);
  }

  /// As a node agent does.
  void report(std::int64_t i) {
    server_.store().patch(
        resource("", "v1", "nodes"), "", fmt::format("node-{}", i / 50 % options_.nodes),
        json::parse(fmt::format(
            R"({{"metadata":{{"annotations":{{"example.com/report":"report-{0}"}}}},"spec":{{"taints":[{{"key":"example.com/seen",)"
            R"("value":"v{0}","effect":"PreferNoSchedule"}}]}}}})",
            i)),
        false, false);
  }

  /// Until the standby knows as many pods as there are.
  void wait_for_standby() {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    const auto expected = static_cast<double>(alive_.size() + impossible_.size());
    std::uint64_t version = 0;
    while (Replica::value_of(standby_->get("/metrics"), R"(berth_watched_objects{resource="core/v1/pods"})") !=
           expected) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the standby does not follow");
      version = server_.await_change(version, std::chrono::milliseconds(200));
    }
  }

  const WholeChurnOptions options_;
  Writes writes_;
  tests::TemporaryDirectory directory_;
  tests::ApiServer server_{server_options(writes_)};
  std::optional<Replica> leader_, standby_;
  std::deque<std::string> namespaces_;
  std::deque<Name> alive_, impossible_;
  std::size_t waiting_ = 0;  // that can be bound, and are not
  std::int64_t bound_ = 0;
};

}  // namespace

std::size_t ReplicaSizes::table_bytes() const {
  std::size_t sum = 0;
  for (const auto& [name, bytes] : tables)
    if (name != "unused_symbols" && name != "pinned_symbols") sum += bytes;
  return sum;
}

void whole_churn(const WholeChurnOptions& options, std::int64_t step,
                 const std::function<void(const WholeChurnSizes& sizes)>& report) {
  Cluster cluster(options);
  for (std::int64_t i = 1; i <= options.pods; ++i) {
    cluster.come(i);
    if (i % step == 0) report(cluster.sizes(i));
  }
}

}  // namespace berth::bench
