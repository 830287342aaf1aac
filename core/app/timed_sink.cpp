// SPDX-License-Identifier: Apache-2.0
#include "app/timed_sink.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "ingest/ingest.hpp"
#include "model/event_diff.hpp"

namespace berth::app {
namespace {

using model::EventResource;
namespace actions = model::actions;

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

model::ClusterEvent event_of(const model::Pod& pod, model::EventActions action) {
  return {pod.node_name == k_no_symbol ? EventResource::unschedulable_pod : EventResource::assigned_pod, action, {}};
}

}  // namespace

TimedSink::TimedSink(cluster::ClusterSink& sink, observe::MetricRegistry& registry)
    : sink_(sink), registry_(registry), family_(define(registry)) {}

template <typename Body>
double TimedSink::time(Body&& body) {
  const auto began = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void TimedSink::record(std::string_view label, double seconds) {
  auto known = series_.find(label);
  if (known == series_.end()) {
    const std::string_view labels[] = {label};
    const auto made = registry_.series(family_, labels);
    if (!made.ok()) return;
    known = series_.emplace(label, *made).first;
  }
  registry_.record(known->second, seconds);
}

void TimedSink::pod_added(const model::PodPtr& pod) {
  const double seconds = time([&] { sink_.pod_added(pod); });
  record(event_of(*pod, actions::add), seconds);
}
void TimedSink::pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  const double seconds = time([&] { sink_.pod_updated(old_pod, new_pod); });
  const bool was_assigned = old_pod->node_name != k_no_symbol, is_assigned = new_pod->node_name != k_no_symbol;
  if (!was_assigned) return record(event_of(*new_pod, is_assigned ? actions::add : actions::update), seconds);
  for (const model::ClusterEvent& event : model::pod_update_events(*old_pod, *new_pod)) record(event, seconds);
}
void TimedSink::pod_deleted(const model::PodPtr& pod) {
  const double seconds = time([&] { sink_.pod_deleted(pod); });
  record(event_of(*pod, actions::remove), seconds);
}
void TimedSink::node_added(const model::NodePtr& node) {
  const double seconds = time([&] { sink_.node_added(node); });
  record({EventResource::node, actions::add, {}}, seconds);
}
void TimedSink::node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) {
  const double seconds = time([&] { sink_.node_updated(old_node, new_node); });
  for (const model::ClusterEvent& event : model::node_update_events(*old_node, *new_node)) record(event, seconds);
}
void TimedSink::node_deleted(const model::NodePtr& node) {
  const double seconds = time([&] { sink_.node_deleted(node); });
  record({EventResource::node, actions::remove, {}}, seconds);
}
void TimedSink::object_added(const model::ObjectPtr& object) {
  const double seconds = time([&] { sink_.object_added(object); });
  record(ingest::event_label(object->resource, actions::add), seconds);
}
void TimedSink::object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) {
  const double seconds = time([&] { sink_.object_updated(old_object, new_object); });
  record(ingest::event_label(new_object->resource, actions::update), seconds);
}
void TimedSink::object_deleted(const model::ObjectPtr& object) {
  const double seconds = time([&] { sink_.object_deleted(object); });
  record(ingest::event_label(object->resource, actions::remove), seconds);
}

}  // namespace berth::app
