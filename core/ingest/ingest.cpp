// SPDX-License-Identifier: Apache-2.0
#include "ingest/ingest.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "model/event_diff.hpp"
#include "observe/log.hpp"

namespace berth::ingest {

using model::EventResource;
namespace actions = model::actions;

namespace {

constexpr model::ClusterEvent k_assigned_pod_add{EventResource::assigned_pod, actions::add, {}};
constexpr model::ClusterEvent k_assigned_pod_delete{EventResource::assigned_pod, actions::remove, {}};
constexpr model::ClusterEvent k_node_add{EventResource::node, actions::add, {}};
constexpr model::ClusterEvent k_node_delete{EventResource::node, actions::remove, {}};
constexpr model::ClusterEvent k_pending_pod_update{EventResource::unschedulable_pod, actions::update, {}};

bool assigned(const model::Pod& pod) noexcept { return pod.node_name != k_no_symbol; }
model::ClusterEvent event_of(const model::Pod& pod, model::EventActions action) noexcept {
  return {assigned(pod) ? EventResource::assigned_pod : EventResource::unschedulable_pod, action, {}};
}

model::EventObjects pods(model::PodPtr old_pod, model::PodPtr new_pod) {
  return {std::move(old_pod), std::move(new_pod), nullptr, nullptr, nullptr, nullptr};
}
model::EventObjects nodes(model::NodePtr old_node, model::NodePtr new_node) {
  return {nullptr, nullptr, std::move(old_node), std::move(new_node), nullptr, nullptr};
}

void log_refusal(const char* message, const Status& status, observe::ObjectName object) {
  if (!status.ok()) observe::error(message, {{"err", status.error().message}, {"object", object}});
}

observe::ObjectName name_of(const model::Pod& pod) { return {pod.ns.get(), pod.name}; }
observe::ObjectName name_of(const model::Node& node) { return {{}, node.name}; }

}  // namespace

void Ingest::handled(const model::ClusterEvent& event, std::int64_t began_ns) const {
  if (parts_.on_handled) parts_.on_handled(event, static_cast<double>(now_ns() - began_ns) / 1e9);
}

// Pods. Groups hear first: pods that the change wakes count with it.

void Ingest::pod_added(const model::PodPtr& pod) {
  const std::int64_t began_ns = now_ns();
  parts_.groups.put(pod, parts_.group_of(*pod));
  if (assigned(*pod))
    assigned_added(pod);
  else if (parts_.responsible(pod->scheduler_name))
    pending_added(pod);
  handled(event_of(*pod, actions::add), began_ns);
}

void Ingest::pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  if (old_pod->uid != new_pod->uid) {
    pod_deleted(old_pod);
    pod_added(new_pod);
    return;
  }
  const std::int64_t began_ns = now_ns();
  parts_.groups.put(new_pod, parts_.group_of(*new_pod));
  if (assigned(*old_pod)) {
    for (const model::ClusterEvent& event : assigned_updated(old_pod, new_pod)) handled(event, began_ns);
    return;
  }
  if (assigned(*new_pod)) {
    assigned_added(new_pod);
    if (parts_.responsible(old_pod->scheduler_name)) parts_.queue.remove(*old_pod);
  } else if (parts_.responsible(old_pod->scheduler_name)) {
    pending_updated(old_pod, new_pod);
  }
  handled(assigned(*new_pod) ? k_assigned_pod_add : k_pending_pod_update, began_ns);
}

void Ingest::pod_deleted(const model::PodPtr& pod) {
  const std::int64_t began_ns = now_ns();
  parts_.groups.remove(*pod);
  if (assigned(*pod))
    assigned_deleted(pod);
  else if (parts_.responsible(pod->scheduler_name))
    pending_deleted(pod);
  handled(event_of(*pod, actions::remove), began_ns);
}

void Ingest::assigned_added(const model::PodPtr& pod) {
  observe::V(3).info("Add event for scheduled pod", {{"pod", *pod}});
  log_refusal("Scheduler cache AddPod failed", parts_.cache.add_pod(pod), name_of(*pod));
  parts_.queue.move_all(k_assigned_pod_add, pods(nullptr, pod));
}

std::vector<model::ClusterEvent> Ingest::assigned_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  observe::V(4).info("Update event for scheduled pod", {{"pod", *new_pod}});
  log_refusal("Scheduler cache UpdatePod failed", parts_.cache.update_pod(new_pod), name_of(*new_pod));
  std::vector<model::ClusterEvent> events = model::pod_update_events(*old_pod, *new_pod);
  for (const model::ClusterEvent& event : events) parts_.queue.move_all(event, pods(old_pod, new_pod));
  return events;
}

void Ingest::assigned_deleted(const model::PodPtr& pod) {
  observe::V(3).info("Delete event for scheduled pod", {{"pod", *pod}});
  log_refusal("Scheduler cache RemovePod failed", parts_.cache.remove_pod(*pod), name_of(*pod));
  parts_.queue.move_all(k_assigned_pod_delete, pods(pod, nullptr));
}

void Ingest::pending_added(const model::PodPtr& pod) {
  observe::V(3).info("Add event for unscheduled pod", {{"pod", *pod}});
  parts_.queue.add(pod);
}

void Ingest::pending_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  if (!new_pod->resource_version.empty() && old_pod->resource_version == new_pod->resource_version) return;
  if (parts_.cache.is_assumed(new_pod->uid)) {  // its binding is under way: nothing for the queue
    if (new_pod->deleting && !old_pod->deleting) assumed_deleted(*new_pod);
    return;
  }
  observe::V(4).info("Update event for unscheduled pod", {{"pod", *new_pod}});
  const std::vector<model::ClusterEvent> events = model::pod_update_events(*old_pod, *new_pod);
  parts_.queue.update(old_pod, new_pod, events);
  if (old_pod->nominated_node != k_no_symbol && old_pod->nominated_node != new_pod->nominated_node)
    nomination_ended(old_pod);
}

void Ingest::pending_deleted(const model::PodPtr& pod) {
  observe::V(3).info("Delete event for unscheduled pod", {{"pod", *pod}});
  parts_.queue.remove(*pod);
  if (parts_.cache.is_assumed(pod->uid))
    assumed_deleted(*pod);
  else if (pod->nominated_node != k_no_symbol)
    nomination_ended(pod);
}

void Ingest::nomination_ended(const model::PodPtr& pod) {
  parts_.queue.move_all(k_assigned_pod_delete, pods(pod, nullptr),
                        [priority = pod->priority](const model::Pod& waiting) { return waiting.priority <= priority; });
}

void Ingest::assumed_deleted(const model::Pod& pod) {
  const std::optional<cache::CachedPod> cached = parts_.cache.find_pod(pod.uid);
  if (!cached) return;
  if (parts_.waiting.waiting(pod.uid.text()))
    parts_.waiting.reject_removed(pod.uid.text());  // its binding cycle cleans up
  else                                              // binding goes on and is expected to fail
    log_refusal("Scheduler cache ForgetPod failed", parts_.cache.remove_pod(pod), name_of(pod));
  auto assumed = std::make_shared<model::Pod>(*cached->pod);
  assumed->node_name = cached->node;
  parts_.queue.move_all(k_assigned_pod_delete, pods(std::move(assumed), nullptr));
}

// Nodes. The queue hears of a node after the cache, and of its end before: a pod retried early must not meet a stale
// cache.

void Ingest::node_added(const model::NodePtr& node) {
  const std::int64_t began_ns = now_ns();
  observe::V(3).info("Add event for node", {{"node", name_of(*node)}});
  parts_.cache.add_node(node);
  parts_.queue.move_all(k_node_add, nodes(nullptr, node));
  handled(k_node_add, began_ns);
}

void Ingest::node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) {
  const std::int64_t began_ns = now_ns();
  observe::V(4).info("Update event for node", {{"node", name_of(*new_node)}});
  parts_.cache.update_node(new_node);
  const auto events = model::node_update_events(*old_node, *new_node);
  for (const model::ClusterEvent& event : events) parts_.queue.move_all(event, nodes(old_node, new_node));
  if (events.empty() && parts_.queue.wants_nameless_changes())
    parts_.queue.move_all({EventResource::node, 0, {}}, nodes(old_node, new_node));
  for (const model::ClusterEvent& event : events) handled(event, began_ns);
}

void Ingest::node_deleted(const model::NodePtr& node) {
  const std::int64_t began_ns = now_ns();
  observe::V(3).info("Delete event for node", {{"node", name_of(*node)}});
  parts_.queue.move_all(k_node_delete, nodes(node, nullptr));
  log_refusal("Scheduler cache RemoveNode failed", parts_.cache.remove_node(*node), name_of(*node));
  handled(k_node_delete, began_ns);
}

// Everything else.

EventResource event_resource(std::string_view resource) noexcept {
  struct Known {
    std::string_view group, plural;
    EventResource resource;
  };
  static constexpr Known k_known[] = {
      {"core", "persistentvolumes", EventResource::persistent_volume},
      {"core", "persistentvolumeclaims", EventResource::persistent_volume_claim},
      {"storage.k8s.io", "csinodes", EventResource::csi_node},
      {"storage.k8s.io", "csidrivers", EventResource::csi_driver},
      {"storage.k8s.io", "volumeattachments", EventResource::volume_attachment},
      {"storage.k8s.io", "csistoragecapacities", EventResource::csi_storage_capacity},
      {"storage.k8s.io", "storageclasses", EventResource::storage_class},
      {"resource.k8s.io", "resourceclaims", EventResource::resource_claim},
      {"resource.k8s.io", "resourceslices", EventResource::resource_slice},
      {"resource.k8s.io", "deviceclasses", EventResource::device_class},
      {"scheduling.k8s.io", "podgroups", EventResource::pod_group},
  };
  const std::size_t first = resource.find('/'), last = resource.rfind('/');
  if (first == std::string_view::npos || first == last) return EventResource::any;
  const std::string_view group = resource.substr(0, first), plural = resource.substr(last + 1);
  for (const Known& known : k_known)
    if (known.group == group && known.plural == plural) return known.resource;
  return EventResource::any;
}

namespace {

std::string make_label(std::string_view resource, model::EventActions change) {
  std::string label = model::ClusterEvent{event_resource(resource), change, {}}.name();
  const std::size_t first = resource.find('/'), last = resource.rfind('/');
  if (label.front() == '*' && first != last) {
    const std::string_view group = resource.substr(0, first), plural = resource.substr(last + 1);
    const std::string_view version = resource.substr(first + 1, last - first - 1);
    label.replace(0, 1, fmt::format("{}.{}.{}", plural, version, group == "core" ? "" : group));
  }
  return label;
}

}  // namespace

std::string_view event_label(std::string_view resource, model::EventActions change) {
  static struct {
    Mutex mutex;
    std::map<model::EventActions, std::map<std::string, std::string, std::less<>>> by_change GUARDED_BY(mutex);
  } known;
  const Lock lock(known.mutex);
  auto& labels = known.by_change[change];
  auto at = labels.find(resource);
  if (at == labels.end()) at = labels.emplace(resource, make_label(resource, change)).first;
  return at->second;
}

void Ingest::object_added(const model::ObjectPtr& object) {
  const std::int64_t began_ns = now_ns();
  parts_.objects.store(*object);
  object_changed(nullptr, object, actions::add, began_ns);
}

void Ingest::object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) {
  const std::int64_t began_ns = now_ns();
  parts_.objects.store(*new_object);
  object_changed(old_object, new_object, actions::update, began_ns);
}

void Ingest::object_deleted(const model::ObjectPtr& object) {
  const std::int64_t began_ns = now_ns();
  parts_.objects.remove(*object);
  object_changed(object, nullptr, actions::remove, began_ns);
}

void Ingest::object_changed(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object,
                            model::EventActions change, std::int64_t began_ns) {
  const model::EventObjects objects{nullptr, nullptr, nullptr, nullptr, old_object, new_object};
  const std::string& name = (new_object != nullptr ? new_object : old_object)->resource;
  const EventResource resource = event_resource(name);
  const std::vector<std::uint32_t> watches = parts_.objects.watches(name);
  // What has a number needs no label, unless it is the number of a watch.
  const bool is_known = resource != EventResource::any;
  const std::string_view label = is_known && watches.empty() ? std::string_view() : event_label(name, change);
  if (is_known) parts_.queue.move_all({resource, change, {}}, objects);
  for (const std::uint32_t watch : watches)
    parts_.queue.move_all(
        {static_cast<EventResource>(static_cast<std::uint32_t>(EventResource::first_watch) + watch), change, label},
        objects);
  handled({resource, change, is_known ? std::string_view() : label}, began_ns);
}

void Ingest::synced() {
  if (parts_.on_synced) parts_.on_synced();
}

}  // namespace berth::ingest
