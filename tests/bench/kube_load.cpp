// SPDX-License-Identifier: Apache-2.0
// One scheduler's program against a kube-apiserver and etcd of its own: how many pods it binds per second, and at what
// cost. Nothing of the scheduler is asked: it is watched through the server, a relay and /proc.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <fstream>
#include <future>
#include <iostream>
#include <mutex>
#include <sstream>

#include "base/check.hpp"
#include "bench/relay.hpp"
#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "cluster/quiet_sink.hpp"
#include "support/api_server/real_api_server.hpp"
#include "support/child_process.hpp"

namespace berth::bench {
namespace {

using namespace cluster::kube;
using Time = std::chrono::steady_clock::time_point;

struct Options {
  std::string name, log;
  std::size_t nodes = 5000, pods = 10'000, bound_before = 0;
  std::vector<std::string> command;
};

constexpr std::chrono::seconds k_stall{60};
constexpr int k_server_tries = 600;  // ten a second
// Lists come much faster than that, what happens between them and the first binding much slower.
constexpr double k_flood_bytes_per_s = 8e6;

double seconds_between(Time a, Time b) { return std::chrono::duration<double>(b - a).count(); }

std::string node_json(std::size_t i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}",)"
      R"("topology.kubernetes.io/zone":"zone-{1}","topology.kubernetes.io/region":"region","kubernetes.io/os":"linux",)"
      R"("kubernetes.io/arch":"amd64","node.kubernetes.io/instance-type":"standard-32"}}}},"spec":{{}},"status":{{)"
      R"("capacity":{{"cpu":"32","memory":"128Gi","ephemeral-storage":"100Gi","pods":"110"}},)"
      R"("allocatable":{{"cpu":"31500m","memory":"124Gi","ephemeral-storage":"90Gi","pods":"110"}},)"
      R"("conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status"}}]}}}})",
      i, i % 3);
}

std::string pod_json(const std::string& name, const std::string& node) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"load","labels":{{"app":"web","tier":"front"}},)"
      R"("annotations":{{"example.com/team":"one","example.com/commit":"0123456789abcdef0123456789abcdef01234567"}}}},)"
      R"("spec":{{{1}"containers":[{{"name":"web","image":"registry.example.com/web:1.2.3","ports":[{{"containerPort":8080}}],)"
      R"("env":[{{"name":"MODE","value":"production"}},{{"name":"NAME","valueFrom":{{"fieldRef":{{"fieldPath":"metadata.name"}}}}}}],)"
      R"("resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"memory":"256Mi"}}}},)"
      R"("readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}}}}]}}}})",
      name, node.empty() ? "" : "\"nodeName\":\"" + node + "\",");
}

/// Sends many requests, some at a time, and waits for all of them.
class Sender {
 public:
  explicit Sender(net::HttpClient& client) : client_(client) {}
  ~Sender() { finish(); }

  void post(std::string target, std::string body) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ < k_open_max; });
    ++open_;
    net::Request request;
    request.method = net::Method::post;
    request.target = std::move(target);
    request.body = std::move(body);
    lock.unlock();
    client_.send(std::move(request), [this](Result<net::Response> response) {
      const Result<std::string> body_or_why = cluster::kube::body_of(std::move(response));
      const std::lock_guard done(mutex_);
      --open_;
      if (!body_or_why.ok()) failure_ = body_or_why.error().message;
      changed_.notify_all();
    });
  }
  /// What the last refusal said; empty: all were accepted.
  std::string finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ == 0; });
    return failure_;
  }

 private:
  static constexpr std::size_t k_open_max = 256;
  net::HttpClient& client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t open_ = 0;
  std::string failure_;
};

/// Watches pods get their nodes.
class Bindings final : public cluster::QuietSink {
 public:
  void pod_added(const model::PodPtr& pod) override { note(*pod); }
  void pod_updated(const model::PodPtr&, const model::PodPtr& pod) override { note(*pod); }
  void synced() override {
    const std::lock_guard lock(mutex_);
    synced_ = true;
    changed_.notify_all();
  }

  bool wait_synced() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(5), [&] { return synced_; });
  }
  /// False when nothing was bound for a long time.
  bool wait_bound(std::size_t count) {
    std::unique_lock lock(mutex_);
    for (std::size_t before = bound_;; before = bound_) {
      if (changed_.wait_for(lock, k_stall, [&] { return bound_ >= count; })) return true;
      if (bound_ == before) return false;
    }
  }
  struct Times {
    Time first, last;
    std::size_t count = 0;
  };
  Times times() {
    const std::lock_guard lock(mutex_);
    return {first_, last_, bound_};
  }

 private:
  void note(const model::Pod& pod) {
    if (pod.node_name == k_no_symbol || !pod.name.starts_with("wait-")) return;
    const std::lock_guard lock(mutex_);
    // A bound pod changes no more here: there is no kubelet.
    last_ = std::chrono::steady_clock::now();
    if (bound_++ == 0) first_ = last_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool synced_ = false;
  std::size_t bound_ = 0;
  Time first_, last_;
};

/// utime and stime of a process, in seconds.
double cpu_seconds(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 2, text.size())));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double peak_mib(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

double load_average() {
  std::ifstream in("/proc/loadavg");
  double out = 0;
  in >> out;
  return out;
}

int run(const Options& options) {
  const std::unique_ptr<tests::RealApiServer> server = tests::RealApiServer::start();
  if (server == nullptr) {
    std::cerr << "KUBEBUILDER_ASSETS does not name a directory with kube-apiserver and etcd\n";
    return 2;
  }
  SystemClock clock;
  net::IoThreads threads(1);
  text::Diagnostics problems;
  auto config = read_kubeconfig(server->kubeconfig(), "kubeconfig", {}, problems);
  BERTH_CHECK(config.has_value(), "{}", problems.render());
  const auto endpoint = *cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
  net::HttpClientOptions unlimited;
  unlimited.qps = -1;
  net::HttpClient client(threads, endpoint, unlimited);
  const auto say = [&options](const std::string& text) { std::cerr << options.name << ": " << text << std::endl; };

  {  // until it is ready
    std::promise<int> status;
    net::Request request;
    request.target = "/readyz";
    request.retry = {k_server_tries, std::chrono::milliseconds(100), 1, false};
    client.send(request, [&status](Result<net::Response> r) { status.set_value(r.ok() ? r->status : 0); });
    if (status.get_future().get() != 200) {
      std::cerr << "kube-apiserver does not become ready\n";
      return 1;
    }
  }
  {
    Sender sender(client);
    sender.post("/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"load"}})");
    sender.finish();
    const Time start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < options.nodes; ++i) sender.post("/api/v1/nodes", node_json(i));
    for (std::size_t i = 0; i < options.bound_before; ++i)
      sender.post("/api/v1/namespaces/load/pods",
                  pod_json(fmt::format("there-{}", i), fmt::format("node-{}", i % options.nodes)));
    for (std::size_t i = 0; i < options.pods; ++i)
      sender.post("/api/v1/namespaces/load/pods", pod_json(fmt::format("wait-{}", i), ""));
    if (const std::string why = sender.finish(); !why.empty()) {
      std::cerr << "an object was refused: " << why << '\n';
      return 1;
    }
    say(fmt::format("{} nodes and {} pods made in {:.1f} s", options.nodes, options.pods + options.bound_before,
                    seconds_between(start, std::chrono::steady_clock::now())));
  }

  SymbolTable symbols;
  Bindings bindings;
  KubeReaderOptions reading;
  reading.client.qps = -1;
  reading.reflector.accept = k_protobuf;
  KubeReader reader(threads, endpoint, symbols, reading);
  reader.start(bindings);
  BERTH_CHECK(bindings.wait_synced(), "the bench's own watch does not come up");

  Relay relay(server->port());
  const tests::TemporaryDirectory directory;
  const std::string kubeconfig = directory.write("kubeconfig", server->kubeconfig(relay.port()));
  const std::string configuration = directory.write("config.yaml",
                                                    "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                                    "kind: KubeSchedulerConfiguration\n"
                                                    "leaderElection: {leaderElect: false}\n"
                                                    "clientConnection:\n"
                                                    "  kubeconfig: " +
                                                        kubeconfig +
                                                        "\n"
                                                        "  qps: -1\n");
  std::vector<std::string> command = options.command;
  for (std::string& word : command)
    if (word == "CONFIG") word = configuration;
  const double load = load_average();
  const Time started = std::chrono::steady_clock::now();
  const tests::ChildProcess scheduler(command, options.log);
  const bool all = bindings.wait_bound(options.pods);
  const double cpu_s = cpu_seconds(scheduler.id()), memory_mib = peak_mib(scheduler.id());
  const Bindings::Times times = bindings.times();
  if (times.count == 0) {
    std::cerr << options.name << ": no pod was bound; its log is " << options.log << '\n';
    return 1;
  }
  const std::optional<Time> listed = relay.end_of_flood(times.first, k_flood_bytes_per_s);
  std::cout << fmt::format(R"({{"name":"{}","nodes":{},"pods":{},"bound_before":{},"bound":{},"pods_per_s":{:.1f},)"
                           R"("cpu_ms_per_pod":{:.4f},"cpu_s":{:.2f},"peak_mib":{:.1f},"first_bind_s":{:.3f},)"
                           R"("after_list_s":{:.3f},"received_mib":{:.1f},"load":{:.2f}}})",
                           options.name, options.nodes, options.pods, options.bound_before, times.count,
                           static_cast<double>(times.count) / std::max(seconds_between(times.first, times.last), 1e-3),
                           cpu_s * 1000 / static_cast<double>(times.count), cpu_s, memory_mib,
                           seconds_between(started, times.first), listed ? seconds_between(*listed, times.first) : -1.0,
                           static_cast<double>(relay.bytes_back()) / (1 << 20), load)
            << std::endl;
  reader.stop();
  if (!all)
    std::cerr << options.name << ": only " << times.count << " pods were bound; its log is " << options.log << '\n';
  return all ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App cli{"Times one scheduler against kube-apiserver and etcd of KUBEBUILDER_ASSETS"};
  berth::bench::Options options;
  cli.add_option("--name", options.name, "What the result is called")->required();
  cli.add_option("--log", options.log, "Where the scheduler's output goes")->required();
  cli.add_option("--nodes", options.nodes, "Nodes, ready and empty");
  cli.add_option("--pods", options.pods, "Pods that wait");
  cli.add_option("--bound-before", options.bound_before, "Pods that have a node before the scheduler starts");
  cli.add_option("COMMAND", options.command, "The scheduler; the word CONFIG becomes its configuration's path")
      ->required();
  CLI11_PARSE(cli, argc, argv);
  return berth::bench::run(options);
}
