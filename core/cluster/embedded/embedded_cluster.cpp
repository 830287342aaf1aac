// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/embedded_cluster.hpp"

#include <charconv>

#include "base/guarded.hpp"
#include "cluster/embedded/embedded_state.hpp"

namespace berth::cluster {
namespace {

/// A version as a number; 0 where it is none.
std::uint64_t number_of(const std::string& version) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  return error == std::errc() && end == version.data() + version.size() ? number : 0;
}

}  // namespace

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
    const Lock lock(store_->mutex);
    const std::string key = pod_key(pod->ns, pod->name);
    const model::PodPtr before = store_->pods.find(key);
    pod = store_->with_claims(std::move(pod));
    // A change is told from a repetition by its version, so every state needs one of its own.
    if (pod->resource_version.empty() || (before != nullptr && before->resource_version == pod->resource_version)) {
      auto copy = std::make_shared<model::Pod>(*pod);
      copy->resource_version = store_->next_version();
      pod = std::move(copy);
    }
    store_->note_version(pod->resource_version.number());
    store_->pods.put(key, pod);
    store_->tell(pod_news(before, std::move(pod)));
  }
  store_->wake();
}

void EmbeddedCluster::put_node(model::NodePtr node) {
  {
    const Lock lock(store_->mutex);
    const model::NodePtr before = store_->nodes.put(node->name, node);
    store_->tell([before, node](ClusterSink& sink) {
      before == nullptr ? sink.node_added(node) : sink.node_updated(before, node);
    });
  }
  store_->wake();
}

void EmbeddedCluster::put_object(model::ObjectPtr object) {
  {
    const Lock lock(store_->mutex);
    store_->note_version(number_of(object->resource_version));
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
    const Lock lock(store_->mutex);
    model::PodPtr pod = store_->pods.remove(pod_key(ns, name));
    if (pod == nullptr) return false;
    store_->release_claims(*pod);
    store_->tell(pod_news(std::move(pod), nullptr));
  }
  store_->wake();
  return true;
}

bool EmbeddedCluster::remove_node(std::string_view name) {
  {
    const Lock lock(store_->mutex);
    const model::NodePtr node = store_->nodes.remove(std::string(name));
    if (node == nullptr) return false;
    store_->tell([node](ClusterSink& sink) { sink.node_deleted(node); });
  }
  store_->wake();
  return true;
}

bool EmbeddedCluster::remove_object(std::string_view resource, std::string_view ns, std::string_view name) {
  {
    const Lock lock(store_->mutex);
    const model::ObjectPtr object = store_->objects.remove(object_key(resource, ns, name));
    if (object == nullptr) return false;
    if (resource == k_volumes)
      std::erase_if(store_->volume_of_claim, [&](const auto& entry) { return entry.second == name; });
    store_->tell([object](ClusterSink& sink) { sink.object_deleted(object); });
  }
  store_->wake();
  return true;
}

void EmbeddedCluster::finish_due_deletions() {
  std::vector<Store::Deletion> due;
  {
    const Lock lock(store_->mutex);
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
  const Lock lock(store_->mutex);
  std::optional<std::int64_t> next;
  for (const Store::Deletion& deletion : store_->deletions)
    if (!next || deletion.due_ns < *next) next = deletion.due_ns;
  return next;
}

std::size_t EmbeddedCluster::deliver() {
  BERTH_CHECK(store_->deliverer.load() != std::this_thread::get_id(), "deliver() was called from inside a delivery");
  const Lock delivering(store_->delivering);
  store_->deliverer = std::this_thread::get_id();
  std::size_t count = 0;
  while (true) {
    Store::News next;
    ClusterSink* sink = nullptr;
    {
      const Lock lock(store_->mutex);
      if (store_->news.empty()) break;
      next = std::move(store_->news.front());
      store_->news.pop_front();
      sink = store_->sink;
    }
    ++count;
    if (next.change && sink != nullptr) next.change(*sink);
    if (next.done) next.done(std::move(next.outcome));
    if (next.answer) next.answer();
  }
  store_->deliverer = std::thread::id();
  return count;
}

std::size_t EmbeddedCluster::waiting() const {
  const Lock lock(store_->mutex);
  return store_->news.size();
}

void EmbeddedCluster::start(ClusterSink& sink) {
  const Lock delivering(store_->delivering);
  std::vector<model::PodPtr> pods;
  std::vector<model::NodePtr> nodes;
  std::vector<model::ObjectPtr> objects;
  {
    const Lock lock(store_->mutex);
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
  const auto forget_sink = [this] {
    const Lock lock(store_->mutex);
    store_->sink = nullptr;
  };
  // From inside of a delivery the call that runs is the caller's own.
  if (store_->deliverer.load() == std::this_thread::get_id()) return forget_sink();
  const Lock delivering(store_->delivering);
  forget_sink();
}

model::PodPtr EmbeddedCluster::find_pod(std::string_view ns, std::string_view name) const {
  const Lock lock(store_->mutex);
  return store_->pods.find(pod_key(ns, name));
}

model::NodePtr EmbeddedCluster::find_node(std::string_view name) const {
  const Lock lock(store_->mutex);
  return store_->nodes.find(std::string(name));
}

model::ObjectPtr EmbeddedCluster::find_object(std::string_view resource, std::string_view ns,
                                              std::string_view name) const {
  const Lock lock(store_->mutex);
  return store_->objects.find(object_key(resource, ns, name));
}

std::vector<model::ObjectPtr> EmbeddedCluster::objects_of(std::string_view resource) const {
  const Lock lock(store_->mutex);
  std::vector<model::ObjectPtr> found = store_->objects.all();
  std::erase_if(found, [&](const model::ObjectPtr& object) { return object->resource != resource; });
  return found;
}

std::vector<model::PodPtr> EmbeddedCluster::pods() const {
  const Lock lock(store_->mutex);
  return store_->pods.all();
}

std::vector<model::NodePtr> EmbeddedCluster::nodes() const {
  const Lock lock(store_->mutex);
  return store_->nodes.all();
}

std::size_t EmbeddedCluster::bound_count() const {
  const Lock lock(store_->mutex);
  return store_->bound_count;
}

std::vector<RecordedWrite> EmbeddedCluster::writes() const {
  const Lock lock(store_->mutex);
  return store_->writes;
}

// As a ClusterWriter.

void EmbeddedCluster::bind(const PodRef& pod, std::string_view node_name, Done done) {
  RecordedWrite record{.kind = RecordedWrite::Kind::bind, .pod = pod, .node = std::string(node_name)};
  store_->write(std::move(record), std::move(done), [&](const std::string& key, const model::PodPtr& before) -> Status {
    store_->mutex.assert_held();
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
    store_->mutex.assert_held();
    if (Status same = check_uid(*before, pod, "pods"); !same.ok()) return same;
    Result<model::Pod> after = with_status(*before, patch, store_->symbols);
    if (!after.ok()) return after.error();
    // A patch that changes nothing writes nothing, so no event follows.
    const bool changed = after->conditions != before->conditions || after->nominated_node != before->nominated_node ||
                         after->phase != before->phase || after->body != before->body;
    if (changed) store_->replace_pod(key, before, std::move(after).value());
    return Unit{};
  });
}

void EmbeddedCluster::patch_pod_metadata(const PodRef& pod, const PodMetadataPatch& patch, Done done) {
  RecordedWrite record{.kind = RecordedWrite::Kind::patch_metadata, .pod = pod, .metadata = patch};
  store_->write(std::move(record), std::move(done), [&](const std::string& key, const model::PodPtr& before) -> Status {
    store_->mutex.assert_held();
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
    store_->mutex.assert_held();
    if (Status same = check_uid(*before, pod, "pods"); !same.ok()) return same;
    if (store_->options.graceful_deletes && before->spec->grace_seconds != 0 && before->node_name != k_no_symbol) {
      if (before->deleting) return Unit{};
      store_->deletions.push_back({store_->clock.monotonic_ns() + before->spec->grace_seconds * 1'000'000'000,
                                   before->ns, before->name, before->uid});
      store_->replace_pod(key, before, terminating(*before));
    } else {
      const model::PodPtr gone = store_->pods.remove(key);
      store_->release_claims(*gone);
      store_->tell(pod_news(gone, nullptr));
    }
    return Unit{};
  });
}

void EmbeddedCluster::patch_object(const ObjectRef& object, std::string_view merge_patch_json, Done done) {
  RecordedWrite record{
      .kind = RecordedWrite::Kind::patch_object, .pod = {}, .object = object, .patch = std::string(merge_patch_json)};
  {
    const Lock lock(store_->mutex);
    const std::size_t answer = store_->news.size();
    store_->news.push_back({nullptr, std::move(done), Unit{}});
    const auto error = store_->refusal(RecordedWrite::Kind::patch_object, pod_key(object.ns, object.name));
    const Status outcome = error ? Status(*error) : store_->patch(object, merge_patch_json);
    store_->news[answer].outcome = outcome;
    store_->keep(std::move(record), outcome);
  }
  store_->wake();
}

void EmbeddedCluster::write_object(const ObjectWrite& write, ObjectDone done) {
  RecordedWrite record{
      .kind = RecordedWrite::Kind::write_object, .pod = {}, .object = write.object, .patch = write.body};
  {
    const Lock lock(store_->mutex);
    const std::size_t answer = store_->news.size();
    store_->news.push_back({nullptr, nullptr, Unit{}, nullptr});
    const auto error = store_->refusal(RecordedWrite::Kind::write_object, pod_key(write.object.ns, write.object.name));
    Result<std::string> outcome = error ? Result<std::string>(*error) : store_->write_object(write);
    store_->keep(std::move(record), outcome.ok() ? Status(Unit{}) : Status(outcome.error()));
    store_->news[answer].answer = [done = std::move(done), outcome = std::move(outcome)] { done(outcome); };
  }
  store_->wake();
}

void EmbeddedCluster::record_event(const EventRecord& event, Done done) {
  {
    const Lock lock(store_->mutex);
    const auto error = store_->refusal(RecordedWrite::Kind::event, pod_key(event.regarding.ns, event.regarding.name));
    const Status outcome = error ? Status(*error) : Status(Unit{});
    store_->news.push_back({nullptr, std::move(done), outcome});
    store_->keep({.kind = RecordedWrite::Kind::event, .pod = event.regarding, .event = event}, outcome);
  }
  store_->wake();
}

}  // namespace berth::cluster
