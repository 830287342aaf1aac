// SPDX-License-Identifier: Apache-2.0
#include "scheduler/recorded_cluster.hpp"

#include <utility>

namespace berth::scheduler {

using recording::Kind;
using recording::Record;

void RecordedSink::waits(const model::PodPtr& pod) {
  recorder_.add(recording::record_with(Kind::waiting_pod, &Record::pod, pod));
}

void RecordedSink::waits_no_more(const model::Pod& pod) {
  recorder_.add(recording::record_with(Kind::waiting_pod_gone, &Record::text, pod.uid.text()));
}

void RecordedSink::pod_added(const model::PodPtr& pod) {
  if (pod->node_name == k_no_symbol) waits(pod);
  sink_.pod_added(pod);
}

void RecordedSink::pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  if (old_pod->uid != new_pod->uid && old_pod->node_name == k_no_symbol) waits_no_more(*old_pod);
  if (new_pod->node_name == k_no_symbol) waits(new_pod);
  sink_.pod_updated(old_pod, new_pod);
}

void RecordedSink::pod_deleted(const model::PodPtr& pod) {
  if (pod->node_name == k_no_symbol) waits_no_more(*pod);
  sink_.pod_deleted(pod);
}

void RecordedSink::object(Kind kind, const model::ObjectPtr& object) {
  recorder_.add(recording::record_with(kind, &Record::object, object));
}

void RecordedSink::object_added(const model::ObjectPtr& added) {
  object(Kind::object, added);
  sink_.object_added(added);
}

void RecordedSink::object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) {
  object(Kind::object, new_object);
  sink_.object_updated(old_object, new_object);
}

void RecordedSink::object_deleted(const model::ObjectPtr& deleted) {
  object(Kind::object_gone, deleted);
  sink_.object_deleted(deleted);
}

RecordedWriter::Done RecordedWriter::recorded(const char* what, const cluster::PodRef& pod, std::string node,
                                              Done done) {
  auto written = std::make_shared<recording::Written>();
  written->what = what;
  written->pod = pod.ns + "/" + pod.name;
  written->uid = pod.uid;
  written->node = std::move(node);
  return [recorder = &recorder_, written, done = std::move(done)](Status status) {
    if (!status.ok()) written->error = status.error().message.empty() ? "it failed" : status.error().message;
    Record record;
    record.kind = Kind::write;
    record.written = written;
    recorder->add(std::move(record));
    done(std::move(status));
  };
}

void RecordedWriter::bind(const cluster::PodRef& pod, std::string_view node_name, Done done) {
  writer_.bind(pod, node_name, recorded("bind", pod, std::string(node_name), std::move(done)));
}

void RecordedWriter::patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) {
  if (patch.nominated_node) done = recorded("nominate", pod, *patch.nominated_node, std::move(done));
  writer_.patch_pod_status(pod, patch, std::move(done));
}

void RecordedWriter::evict(const cluster::PodRef& pod, Done done) {
  writer_.evict(pod, recorded("evict", pod, {}, std::move(done)));
}

}  // namespace berth::scheduler
