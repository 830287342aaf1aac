// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/embedded_cluster.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "cluster/embedded/embedded_store.hpp"
#include "cluster/embedded/pod_writes.hpp"
#include "cluster/embedded/volume_controller.hpp"
#include "text/parse.hpp"

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
  std::unordered_map<std::string, std::string> volume_of_claim;  // with volume_controller: by "namespace/name"
  struct Deletion {
    std::int64_t due_ns;
    std::string ns, name, uid;
  };
  std::vector<Deletion> deletions;  // of pods that were evicted and are terminating
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

  void replace_object(model::Object object) {
    object.resource_version = next_version();
    object.json = with_version(object);
    auto shared = std::make_shared<const model::Object>(std::move(object));
    const model::ObjectPtr before = objects.put(object_key(shared->resource, shared->ns, shared->name), shared);
    tell([before, shared](ClusterSink& to) {
      before == nullptr ? to.object_added(shared) : to.object_updated(before, shared);
    });
    note_claim(*shared);
  }
  static std::string with_version(const model::Object& object) {
    text::Problems problems;
    const auto target = text::parse_json(object.json, object.name, problems);
    const auto change = text::parse_json(
        fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}}}})", object.resource_version), "patch", problems);
    BERTH_CHECK(target.size() == 1 && change.size() == 1, "{} is kept as JSON that does not parse", object.name);
    return text::merge_json(&target[0].root(), change[0].root());
  }
  /// Remembers which volume names which claim.
  void note_claim(const model::Object& object) {
    if (!options.volume_controller || object.resource != k_volumes) return;
    const std::string claim = VolumeController::claim_of(object);
    std::erase_if(volume_of_claim,
                  [&](const auto& entry) { return entry.second == object.name && entry.first != claim; });
    if (!claim.empty()) volume_of_claim[claim] = object.name;
  }
  /// The controllers' answer to a new state of an object.
  void control_volumes(const model::Object& object) {
    if (!options.volume_controller) return;
    const VolumeController::Cluster cluster{
        [this](std::string_view resource, std::string_view ns, std::string_view name) {
          return objects.find(object_key(resource, ns, name));
        },
        [this](std::string_view ns, std::string_view name) {
          const auto found = volume_of_claim.find(pod_key(ns, name));
          return found == volume_of_claim.end() ? std::string() : found->second;
        },
        [this](std::string_view node, std::string_view key) -> std::string {
          const model::NodePtr found = nodes.find(std::string(node));
          if (found == nullptr) return {};
          const Symbol symbol = symbols.intern(key);
          for (const model::Label& label : found->labels)
            if (label.key == symbol) return std::string(symbols.text(label.value));
          return {};
        }};
    for (VolumeController::Change& change : VolumeController::react(object, cluster)) {
      model::Object next;
      next.resource = std::move(change.resource);
      next.ns = std::move(change.ns);
      next.name = std::move(change.name);
      next.uid = std::move(change.uid);
      next.json = std::move(change.json);
      replace_object(std::move(next));
    }
  }
  Status patch(const ObjectRef& ref, std::string_view merge_patch_json) {
    const model::ObjectPtr before = objects.find(object_key(ref.resource, ref.ns, ref.name));
    const std::string plural = ref.resource.substr(ref.resource.rfind('/') + 1);
    if (before == nullptr)
      return Error{fmt::format("{} \"{}\" not found", plural, ref.name), std::string(reasons::not_found)};
    text::Problems problems;
    const auto target = text::parse_json(before->json, ref.name, problems);
    const auto change = text::parse_json(merge_patch_json, "patch", problems);
    if (target.size() != 1 || change.size() != 1 || !change[0].root().is_mapping())
      return Error{"the patch is not a JSON object: " + problems.render(), std::string(reasons::invalid)};
    const auto differs = [&](std::string_view path, const std::string& now) {
      const text::Value* wanted = change[0].root().find_path(path);
      return wanted != nullptr && !wanted->text().empty() && wanted->text() != now;
    };
    if (differs("metadata.resourceVersion", before->resource_version) || differs("metadata.uid", before->uid))
      return Error{
          fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been modified; please apply your "
                      "changes to the latest version and try again",
                      plural, ref.name),
          std::string(reasons::conflict)};
    model::Object after = *before;
    after.json = text::merge_json(&target[0].root(), change[0].root());
    replace_object(std::move(after));
    control_volumes(*objects.find(object_key(ref.resource, ref.ns, ref.name)));
    return Unit{};
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
    store_->note_claim(*object);
    store_->control_volumes(*object);
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
    if (resource == k_volumes)
      std::erase_if(store_->volume_of_claim, [&](const auto& entry) { return entry.second == name; });
    store_->tell([object](ClusterSink& sink) { sink.object_deleted(object); });
  }
  store_->wake();
  return true;
}

void EmbeddedCluster::finish_deletions() {
  for (const model::PodPtr& pod : pods())
    if (pod->deleting) remove_pod(pod->ns, pod->name);
}

void EmbeddedCluster::finish_due_deletions() {
  std::vector<Store::Deletion> due;
  {
    const std::lock_guard lock(store_->mutex);
    const std::int64_t now = store_->clock.monotonic_ns();
    std::erase_if(store_->deletions, [&](Store::Deletion& deletion) {
      if (deletion.due_ns > now) return false;
      due.push_back(std::move(deletion));
      return true;
    });
  }
  for (const Store::Deletion& deletion : due) {
    const model::PodPtr pod = find_pod(deletion.ns, deletion.name);
    if (pod != nullptr && pod->uid == deletion.uid) remove_pod(deletion.ns, deletion.name);
  }
}

std::optional<std::int64_t> EmbeddedCluster::next_deletion_ns() const {
  const std::lock_guard lock(store_->mutex);
  std::optional<std::int64_t> next;
  for (const Store::Deletion& deletion : store_->deletions)
    if (!next || deletion.due_ns < *next) next = deletion.due_ns;
  return next;
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
    if (store_->options.graceful_deletes && before->grace_seconds != 0 && before->node_name != k_no_symbol) {
      if (before->deleting) return Unit{};
      store_->deletions.push_back({store_->clock.monotonic_ns() + before->grace_seconds * 1'000'000'000, before->ns,
                                   before->name, before->uid});
      store_->replace_pod(key, before, terminating(*before));
    } else {
      store_->tell(pod_news(store_->pods.remove(key), nullptr));
    }
    return Unit{};
  });
}

void EmbeddedCluster::patch_object(const ObjectRef& object, std::string_view merge_patch_json, Done done) {
  RecordedWrite record{
      .kind = RecordedWrite::Kind::patch_object, .pod = {}, .object = object, .patch = std::string(merge_patch_json)};
  {
    const std::lock_guard lock(store_->mutex);
    const std::size_t answer = store_->news.size();
    store_->news.push_back({nullptr, std::move(done), Unit{}});
    const auto error = store_->planned_failure(RecordedWrite::Kind::patch_object, pod_key(object.ns, object.name));
    const Status outcome = error ? Status(*error) : store_->patch(object, merge_patch_json);
    store_->news[answer].outcome = outcome;
    store_->keep(std::move(record), outcome);
  }
  store_->wake();
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
