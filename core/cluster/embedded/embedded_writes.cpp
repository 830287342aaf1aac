// SPDX-License-Identifier: Apache-2.0
// The embedded cluster as a ClusterWriter.
#include "base/guarded.hpp"
#include "cluster/embedded/embedded_state.hpp"

namespace berth::cluster {

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
    const auto error = store_->planned_failure(RecordedWrite::Kind::patch_object, pod_key(object.ns, object.name));
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
    const auto error =
        store_->planned_failure(RecordedWrite::Kind::write_object, pod_key(write.object.ns, write.object.name));
    Result<std::string> outcome = error ? Result<std::string>(*error) : store_->write_object(write);
    store_->keep(std::move(record), outcome.ok() ? Status(Unit{}) : Status(outcome.error()));
    store_->news[answer].answer = [done = std::move(done), outcome = std::move(outcome)] { done(outcome); };
  }
  store_->wake();
}

void EmbeddedCluster::record_event(const EventRecord& event, Done done) {
  {
    const Lock lock(store_->mutex);
    const auto error =
        store_->planned_failure(RecordedWrite::Kind::event, pod_key(event.regarding.ns, event.regarding.name));
    const Status outcome = error ? Status(*error) : Status(Unit{});
    store_->news.push_back({nullptr, std::move(done), outcome});
    store_->keep({.kind = RecordedWrite::Kind::event, .pod = event.regarding, .event = event}, outcome);
  }
  store_->wake();
}

}  // namespace berth::cluster
