// SPDX-License-Identifier: Apache-2.0
#include "app/timed_sink.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "ingest/ingest.hpp"

namespace berth::app {
namespace {

using model::EventResource;

observe::MetricRegistry::Family define(observe::MetricRegistry& registry) {
  std::vector<double> buckets;
  for (double bound = 0.0001; buckets.size() < 12; bound *= 2) buckets.push_back(bound);
  const auto family = registry.define({observe::MetricKind::histogram,
                                       "scheduler_event_handling_duration_seconds",
                                       "[ALPHA] Event handling latency in seconds.",
                                       {"event"},
                                       std::move(buckets)});
  BERTH_CHECK(family.ok(), "{}", family.error().message);
  return *family;
}

EventResource resource_of(const model::Pod& pod) {
  return pod.node_name == k_no_symbol ? EventResource::unschedulable_pod : EventResource::assigned_pod;
}

}  // namespace

TimedSink::TimedSink(cluster::ClusterSink& sink, observe::MetricRegistry& registry)
    : sink_(sink), registry_(registry), family_(define(registry)) {}

template <typename Body>
void TimedSink::time(EventResource resource, Change change, Body&& body) {
  const auto began = std::chrono::steady_clock::now();
  body();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  auto known = series_.find({resource, change});
  if (known == series_.end()) {
    const model::EventActions action = change == Change::add      ? model::actions::add
                                       : change == Change::update ? model::actions::update
                                                                  : model::actions::remove;
    const std::string label = model::ClusterEvent{resource, action, {}}.name();
    const std::string_view labels[] = {label};
    const auto made = registry_.series(family_, labels);
    if (!made.ok()) return;
    known = series_.emplace(std::pair(resource, change), *made).first;
  }
  registry_.record(known->second, seconds);
}

void TimedSink::pod_added(const model::PodPtr& pod) {
  time(resource_of(*pod), Change::add, [&] { sink_.pod_added(pod); });
}
void TimedSink::pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  time(resource_of(*new_pod), Change::update, [&] { sink_.pod_updated(old_pod, new_pod); });
}
void TimedSink::pod_deleted(const model::PodPtr& pod) {
  time(resource_of(*pod), Change::remove, [&] { sink_.pod_deleted(pod); });
}
void TimedSink::node_added(const model::NodePtr& node) {
  time(EventResource::node, Change::add, [&] { sink_.node_added(node); });
}
void TimedSink::node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) {
  time(EventResource::node, Change::update, [&] { sink_.node_updated(old_node, new_node); });
}
void TimedSink::node_deleted(const model::NodePtr& node) {
  time(EventResource::node, Change::remove, [&] { sink_.node_deleted(node); });
}
void TimedSink::object_added(const model::ObjectPtr& object) {
  time(ingest::event_resource(object->resource), Change::add, [&] { sink_.object_added(object); });
}
void TimedSink::object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) {
  time(ingest::event_resource(new_object->resource), Change::update,
       [&] { sink_.object_updated(old_object, new_object); });
}
void TimedSink::object_deleted(const model::ObjectPtr& object) {
  time(ingest::event_resource(object->resource), Change::remove, [&] { sink_.object_deleted(object); });
}

}  // namespace berth::app
