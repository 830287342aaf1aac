// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/embedded_cluster.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "cluster/embedded/embedded_store.hpp"
#include "cluster/embedded/pod_writes.hpp"

namespace berth::cluster {
namespace {

std::string pod_key(std::string_view ns, std::string_view name) { return std::string(ns).append("/").append(name); }
std::string object_key(std::string_view resource, std::string_view ns, std::string_view name) {
  return std::string(resource).append("/").append(pod_key(ns, name));
}

/// What a watch shows when a pod stood at `before` and now stands at `after`; null is gone. Finished pods are not
/// shown.
std::function<void(ClusterSink&)> pod_news(model::PodPtr before, model::PodPtr after) {
  const bool was = before != nullptr && !before->finished();
  const bool is = after != nullptr && !after->finished();
  if (was && is && before->uid != after->uid) {
    return [before = std::move(before), after = std::move(after)](ClusterSink& sink) {
      sink.pod_deleted(before);
      sink.pod_added(after);
    };
  }
  if (was && is)
    return
        [before = std::move(before), after = std::move(after)](ClusterSink& sink) { sink.pod_updated(before, after); };
  if (is) return [after = std::move(after)](ClusterSink& sink) { sink.pod_added(after); };
  if (was) return [before = std::move(before)](ClusterSink& sink) { sink.pod_deleted(before); };
  return nullptr;
}

}  // namespace

struct EmbeddedCluster::Store {
  /// Either a change that the sink hears of, or the end of a write.
  struct News {
    std::function<void(ClusterSink&)> change;
    Done done;
    Status outcome = Unit{};
  };
  struct PlannedFailure {
    RecordedWrite::Kind kind;
    std::string pod_key;
    Error error;
  };

  Store(SymbolTable& table, const Clock& its_clock, Options its_options)
      : symbols(table), clock(its_clock), options(std::move(its_options)) {}

  // Constant after construction.
  SymbolTable& symbols;
  const Clock& clock;
  const Options options;

  mutable std::mutex mutex;  // guards everything below; leaf of the lock order
  OrderedObjects<model::PodPtr> pods;
  OrderedObjects<model::NodePtr> nodes;
  OrderedObjects<model::ObjectPtr> objects;
  std::deque<News> news;
  std::vector<RecordedWrite> writes;
  std::vector<PlannedFailure> failures;
  ClusterSink* sink = nullptr;
  std::uint64_t last_version = 0;
  std::size_t bound_count = 0;

  std::mutex delivering;  // held by the thread in deliver(); taken before `mutex`
  std::atomic<std::thread::id> deliverer{};

  std::string next_version() { return std::to_string(++last_version); }

  void tell(std::function<void(ClusterSink&)> change) {
    if (sink != nullptr && change) news.push_back({std::move(change), nullptr, Unit{}});
  }
  void replace_pod(const std::string& key, const model::PodPtr& before, model::Pod after) {
    after.resource_version = next_version();
    auto shared = std::make_shared<const model::Pod>(std::move(after));
    pods.put(key, shared);
    tell(pod_news(before, std::move(shared)));
  }

  std::optional<Error> planned_failure(RecordedWrite::Kind kind, const std::string& key) {
    const auto planned = std::find_if(failures.begin(), failures.end(), [&](const PlannedFailure& f) {
      return f.kind == kind && (f.pod_key.empty() || f.pod_key == key);
    });
    if (planned == failures.end()) return std::nullopt;
    Error error = std::move(planned->error);
    failures.erase(planned);
    return error;
  }

  /// One write: `change` gets the pod and returns what it becomes. The outcome is queued before the news.
  template <typename Change>
  void write(RecordedWrite record, Done done, Change&& change) {
    {
      const std::lock_guard lock(mutex);
      const std::string key = pod_key(record.pod.ns, record.pod.name);
      const model::PodPtr before = pods.find(key);
      Status outcome = Unit{};
      const auto error = planned_failure(record.kind, key);
      const std::size_t answer = news.size();
      news.push_back({nullptr, std::move(done), Unit{}});
      if (error) {
        outcome = *error;
      } else if (before == nullptr) {
        outcome = not_found(record.pod.name);
      } else {
        outcome = change(key, before);
      }
      news[answer].outcome = outcome;
      keep(std::move(record), outcome);
    }
    wake();
  }

  void keep(RecordedWrite record, const Status& outcome) {
    if (!options.record_writes) return;
    record.outcome = outcome;
    record.wall_ns = clock.wall_ns();
    writes.push_back(std::move(record));
  }

  void wake() const {
    if (options.wake) options.wake();
  }
};

EmbeddedCluster::EmbeddedCluster(SymbolTable& symbols, const Clock& clock, Options options)
    : store_(std::make_unique<Store>(symbols, clock, std::move(options))) {}
EmbeddedCluster::~EmbeddedCluster() = default;

void EmbeddedCluster::put(const decode::Decoded& object) {
  if (const auto* pod = std::get_if<model::PodPtr>(&object)) put_pod(*pod);
  if (const auto* node = std::get_if<model::NodePtr>(&object)) put_node(*node);
  if (const auto* other = std::get_if<model::ObjectPtr>(&object)) put_object(*other);
}

void EmbeddedCluster::put_pod(model::PodPtr pod) {
  {
    const std::lock_guard lock(store_->mutex);
    const std::string key = pod_key(pod->ns, pod->name);
    const model::PodPtr before = store_->pods.find(key);
    // A change is told from a repetition by its version, so every state needs one of its own.
    if (pod->resource_version.empty() || (before != nullptr && before->resource_version == pod->resource_version)) {
      auto copy = std::make_shared<model::Pod>(*pod);
      copy->resource_version = store_->next_version();
      pod = std::move(copy);
    }
    store_->pods.put(key, pod);
    store_->tell(pod_news(before, std::move(pod)));
  }
  store_->wake();
}

void EmbeddedCluster::put_node(model::NodePtr node) {
  {
    const std::lock_guard lock(store_->mutex);
    const model::NodePtr before = store_->nodes.put(node->name, node);
    store_->tell([before, node](ClusterSink& sink) {
      before == nullptr ? sink.node_added(node) : sink.node_updated(before, node);
    });
  }
  store_->wake();
}

void EmbeddedCluster::put_object(model::ObjectPtr object) {
  {
    const std::lock_guard lock(store_->mutex);
    const model::ObjectPtr before = store_->objects.put(object_key(object->resource, object->ns, object->name), object);
    store_->tell([before, object](ClusterSink& sink) {
      before == nullptr ? sink.object_added(object) : sink.object_updated(before, object);
    });
  }
  store_->wake();
}

bool EmbeddedCluster::remove_pod(std::string_view ns, std::string_view name) {
  {
    const std::lock_guard lock(store_->mutex);
    model::PodPtr pod = store_->pods.remove(pod_key(ns, name));
    if (pod == nullptr) return false;
    store_->tell(pod_news(std::move(pod), nullptr));
  }
  store_->wake();
  return true;
}

bool EmbeddedCluster::remove_node(std::string_view name) {
  {
    const std::lock_guard lock(store_->mutex);
    const model::NodePtr node = store_->nodes.remove(std::string(name));
    if (node == nullptr) return false;
    store_->tell([node](ClusterSink& sink) { sink.node_deleted(node); });
  }
  store_->wake();
  return true;
}

bool EmbeddedCluster::remove_object(std::string_view resource, std::string_view ns, std::string_view name) {
  {
    const std::lock_guard lock(store_->mutex);
    const model::ObjectPtr object = store_->objects.remove(object_key(resource, ns, name));
    if (object == nullptr) return false;
    store_->tell([object](ClusterSink& sink) { sink.object_deleted(object); });
  }
  store_->wake();
  return true;
}

void EmbeddedCluster::finish_deletions() {
  for (const model::PodPtr& pod : pods())
    if (pod->deleting) remove_pod(pod->ns, pod->name);
}

void EmbeddedCluster::fail_next(RecordedWrite::Kind kind, std::string_view key, Error error) {
  const std::lock_guard lock(store_->mutex);
  store_->failures.push_back({kind, std::string(key), std::move(error)});
}

std::size_t EmbeddedCluster::deliver() {
  BERTH_CHECK(store_->deliverer.load() != std::this_thread::get_id(), "deliver() was called from inside a delivery");
  const std::lock_guard delivering(store_->delivering);
  store_->deliverer = std::this_thread::get_id();
  std::size_t count = 0;
  while (true) {
    Store::News next;
    ClusterSink* sink = nullptr;
    {
      const std::lock_guard lock(store_->mutex);
      if (store_->news.empty()) break;
      next = std::move(store_->news.front());
      store_->news.pop_front();
      sink = store_->sink;
    }
    ++count;
    if (next.change && sink != nullptr) next.change(*sink);
    if (next.done) next.done(std::move(next.outcome));
  }
  store_->deliverer = std::thread::id();
  return count;
}

std::size_t EmbeddedCluster::waiting() const {
  const std::lock_guard lock(store_->mutex);
  return store_->news.size();
}

void EmbeddedCluster::start(ClusterSink& sink) {
  const std::lock_guard delivering(store_->delivering);
  std::vector<model::PodPtr> pods;
  std::vector<model::NodePtr> nodes;
  std::vector<model::ObjectPtr> objects;
  {
    const std::lock_guard lock(store_->mutex);
    BERTH_CHECK(store_->sink == nullptr, "a cluster was started twice");
    store_->sink = &sink;
    pods = store_->pods.all();
    nodes = store_->nodes.all();
    objects = store_->objects.all();
  }
  // Pods last: judging one may need everything else.
  for (const model::ObjectPtr& object : objects) sink.object_added(object);
  for (const model::NodePtr& node : nodes) sink.node_added(node);
  for (const model::PodPtr& pod : pods)
    if (!pod->finished()) sink.pod_added(pod);
  sink.synced();
}

void EmbeddedCluster::stop() noexcept {
  // From inside of a delivery the call that runs is the caller's own.
  std::unique_lock delivering(store_->delivering, std::defer_lock);
  if (store_->deliverer.load() != std::this_thread::get_id()) delivering.lock();
  const std::lock_guard lock(store_->mutex);
  store_->sink = nullptr;
}

void EmbeddedCluster::bind(const PodRef& pod, std::string_view node_name, Done done) {
  RecordedWrite record{.kind = RecordedWrite::Kind::bind, .pod = pod, .node = std::string(node_name)};
  store_->write(std::move(record), std::move(done), [&](const std::string& key, const model::PodPtr& before) -> Status {
    Result<model::Pod> after = bound(*before, pod, node_name, store_->symbols);
    if (!after.ok()) return after.error();
    store_->replace_pod(key, before, std::move(after).value());
    ++store_->bound_count;
    return Unit{};
  });
}

void EmbeddedCluster::patch_pod_status(const PodRef& pod, const PodStatusPatch& patch, Done done) {
  RecordedWrite record{.kind = RecordedWrite::Kind::patch_status, .pod = pod, .status = patch};
  store_->write(std::move(record), std::move(done), [&](const std::string& key, const model::PodPtr& before) -> Status {
    if (Status same = check_uid(*before, pod, "pods"); !same.ok()) return same;
    Result<model::Pod> after = with_status(*before, patch, store_->symbols);
    if (!after.ok()) return after.error();
    // A patch that changes nothing writes nothing, so nobody hears of it.
    const bool changed = after->conditions != before->conditions || after->nominated_node != before->nominated_node ||
                         after->phase != before->phase || after->json != before->json;
    if (changed) store_->replace_pod(key, before, std::move(after).value());
    return Unit{};
  });
}

void EmbeddedCluster::patch_pod_metadata(const PodRef& pod, const PodMetadataPatch& patch, Done done) {
  RecordedWrite record{.kind = RecordedWrite::Kind::patch_metadata, .pod = pod, .metadata = patch};
  store_->write(std::move(record), std::move(done), [&](const std::string& key, const model::PodPtr& before) -> Status {
    if (Status same = check_uid(*before, pod, "pods"); !same.ok()) return same;
    Result<model::Pod> after = with_metadata(*before, patch, store_->symbols);
    if (!after.ok()) return after.error();
    if (after->labels != before->labels || after->annotations != before->annotations)
      store_->replace_pod(key, before, std::move(after).value());
    return Unit{};
  });
}

void EmbeddedCluster::evict(const PodRef& pod, Done done) {
  RecordedWrite record{.kind = RecordedWrite::Kind::evict, .pod = pod};
  store_->write(std::move(record), std::move(done), [&](const std::string& key, const model::PodPtr& before) -> Status {
    if (Status same = check_uid(*before, pod, "pods"); !same.ok()) return same;
    if (store_->options.graceful_deletes) {
      if (!before->deleting) store_->replace_pod(key, before, terminating(*before));
    } else {
      store_->tell(pod_news(store_->pods.remove(key), nullptr));
    }
    return Unit{};
  });
}

void EmbeddedCluster::record_event(const EventRecord& event, Done done) {
  {
    const std::lock_guard lock(store_->mutex);
    const auto error =
        store_->planned_failure(RecordedWrite::Kind::event, pod_key(event.regarding.ns, event.regarding.name));
    const Status outcome = error ? Status(*error) : Status(Unit{});
    store_->news.push_back({nullptr, std::move(done), outcome});
    store_->keep({.kind = RecordedWrite::Kind::event, .pod = event.regarding, .event = event}, outcome);
  }
  store_->wake();
}

model::PodPtr EmbeddedCluster::find_pod(std::string_view ns, std::string_view name) const {
  const std::lock_guard lock(store_->mutex);
  return store_->pods.find(pod_key(ns, name));
}

model::NodePtr EmbeddedCluster::find_node(std::string_view name) const {
  const std::lock_guard lock(store_->mutex);
  return store_->nodes.find(std::string(name));
}

model::ObjectPtr EmbeddedCluster::find_object(std::string_view resource, std::string_view ns,
                                              std::string_view name) const {
  const std::lock_guard lock(store_->mutex);
  return store_->objects.find(object_key(resource, ns, name));
}

std::vector<model::PodPtr> EmbeddedCluster::pods() const {
  const std::lock_guard lock(store_->mutex);
  return store_->pods.all();
}

std::vector<model::NodePtr> EmbeddedCluster::nodes() const {
  const std::lock_guard lock(store_->mutex);
  return store_->nodes.all();
}

std::size_t EmbeddedCluster::bound_count() const {
  const std::lock_guard lock(store_->mutex);
  return store_->bound_count;
}

std::vector<RecordedWrite> EmbeddedCluster::writes() const {
  const std::lock_guard lock(store_->mutex);
  return store_->writes;
}

}  // namespace berth::cluster
