// SPDX-License-Identifier: Apache-2.0
#include "app/live/cluster_copy.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "base/guarded.hpp"
#include "base/product.hpp"
#include "cluster/kube/read/api_question.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_copying_threads = 2;
constexpr std::chrono::seconds k_first_answer{15};
constexpr std::chrono::milliseconds k_wait_step{100};
constexpr std::uint64_t k_failures_max = 3;  // of a resource that is not known yet

/// Keeps what it hears of, by kind, namespace and name.
class Objects final : public cluster::ClusterSink {
 public:
  void pod_added(const model::PodPtr& pod) override { put(pod); }
  void pod_updated(const model::PodPtr&, const model::PodPtr& pod) override { put(pod); }
  void pod_deleted(const model::PodPtr& pod) override { remove(pod); }
  void node_added(const model::NodePtr& node) override { put(node); }
  void node_updated(const model::NodePtr&, const model::NodePtr& node) override { put(node); }
  void node_deleted(const model::NodePtr& node) override { remove(node); }
  void object_added(const model::ObjectPtr& object) override { put(object); }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override { put(object); }
  void object_deleted(const model::ObjectPtr& object) override { remove(object); }
  void synced() override {
    const Lock lock(mutex_);
    is_synced_ = true;
    changed_.notify_all();
  }

  /// True when all is known; false when that takes longer.
  bool wait(std::chrono::milliseconds limit) const {
    UniqueLock lock(mutex_);
    return changed_.wait_for(lock, limit, [this]() REQUIRES(mutex_) { return is_synced_; });
  }
  std::vector<decode::Decoded> all() const {
    const Lock lock(mutex_);
    std::vector<decode::Decoded> out;
    out.reserve(by_key_.size());
    for (const auto& [key, object] : by_key_) out.push_back(object);
    return out;
  }

 private:
  // The first digit of a key is the place of its kind in the order: nodes, other objects, pods.
  static std::string key_of(const model::NodePtr& node) { return "1/" + node->name; }
  static std::string key_of(const model::ObjectPtr& object) {
    return fmt::format("2/{}/{}/{}", object->resource, object->ns, object->name);
  }
  static std::string key_of(const model::PodPtr& pod) { return fmt::format("3/{}/{}", pod->ns, pod->name); }
  template <typename Ptr>
  void put(const Ptr& object) {
    const Lock lock(mutex_);
    by_key_.insert_or_assign(key_of(object), decode::Decoded(object));
  }
  template <typename Ptr>
  void remove(const Ptr& object) {
    const Lock lock(mutex_);
    by_key_.erase(key_of(object));
  }

  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::map<std::string, decode::Decoded> by_key_ GUARDED_BY(mutex_);
  bool is_synced_ GUARDED_BY(mutex_) = false;
};

}  // namespace

struct ClusterCopy::State {
  State(std::shared_ptr<net::Endpoint> of, std::chrono::seconds patience, net::HttpClientOptions options)
      : endpoint(std::move(of)), limit(patience), client(std::move(options)) {}

  const std::shared_ptr<net::Endpoint> endpoint;
  const std::chrono::seconds limit;
  const net::HttpClientOptions client;
  Objects objects;
  net::IoThreads threads{k_copying_threads, "copying"};
  std::unique_ptr<cluster::kube::KubeReader> reader;

  /// Resources that are not known yet and failed at least so often; empty: there are none.
  std::string unknown(std::uint64_t failures) const {
    std::string out;
    for (const cluster::kube::KubeReader::Progress& progress : reader->progress())
      if (!progress.is_synced && progress.counts.failures >= failures)
        out += (out.empty() ? "" : ", ") + progress.resource;
    return out;
  }
};

ClusterCopy::ClusterCopy(std::shared_ptr<net::Endpoint> endpoint, SymbolTable& symbols, Options options) {
  net::HttpClientOptions client;
  client.qps = -1;  // a list and a watch of each resource is all that is asked
  client.user_agent = user_agent();
  client.accept_gzip = endpoint->takes_gzip();
  cluster::kube::KubeReaderOptions reader;
  reader.resources = std::move(options.resources);
  reader.decode = std::move(options.decode);
  reader.client = client;
  reader.reflector.accept = std::string(cluster::kube::k_protobuf) + ",application/json";
  state_ = std::make_unique<State>(endpoint, options.limit, client);
  state_->reader = std::make_unique<cluster::kube::KubeReader>(state_->threads, std::move(endpoint), symbols, reader);
}

ClusterCopy::~ClusterCopy() { state_->reader->stop(); }

Status ClusterCopy::read() {
  // One question first: who may not ask at all, or reaches no server, is to hear that at once and in the server's words.
  net::HttpClient client(state_->threads, state_->endpoint, state_->client);
  net::Request request;
  request.target = "/api/v1/nodes?limit=1";
  const Result<std::string> nodes =
      cluster::kube::ask_server(client, std::move(request), std::min(k_first_answer, state_->limit));
  if (!nodes.ok()) return Error{fmt::format("{}: nodes cannot be listed: {}", server(), nodes.error().message)};

  state_->reader->start(state_->objects);
  const auto end = std::chrono::steady_clock::now() + state_->limit;
  while (!state_->objects.wait(k_wait_step)) {
    if (const std::string failing = state_->unknown(k_failures_max); !failing.empty())
      return Error{fmt::format("{}: cannot be listed or watched, for the reason above: {}", server(), failing)};
    if (std::chrono::steady_clock::now() > end)
      return Error{fmt::format("{}: not known within {} s: {}", server(), state_->limit.count(), state_->unknown(0))};
  }
  return Unit{};
}

std::vector<decode::Decoded> ClusterCopy::objects() const { return state_->objects.all(); }

std::string ClusterCopy::server() const {
  const net::Url& url = state_->endpoint->server();
  return url.scheme + "://" + url.authority() + url.path;
}

}  // namespace berth::app
