// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::queue::testing {

using model::ClusterEvent;
using model::EventObjects;
using model::EventResource;
using model::PluginIndex;
using model::PluginSet;
using model::PodPtr;
namespace actions = model::actions;
using namespace std::chrono_literals;

// Plugins by number, as the framework would hand them out.
inline constexpr PluginIndex k_fit = 1, k_affinity = 2, k_taints = 3, k_gates = 4, k_claims = 5, k_deaf = 6;

inline constexpr ClusterEvent k_node_add{EventResource::node, actions::add, {}};
inline constexpr ClusterEvent k_node_label{EventResource::node, actions::update_node_label, {}};
inline constexpr ClusterEvent k_node_taint{EventResource::node, actions::update_node_taint, {}};
inline constexpr ClusterEvent k_node_allocatable{EventResource::node, actions::update_node_allocatable, {}};
inline constexpr ClusterEvent k_assigned_pod_delete{EventResource::assigned_pod, actions::remove, {}};
inline constexpr ClusterEvent k_claim_add{EventResource::resource_claim, actions::add, {}};
inline constexpr ClusterEvent k_gates_gone{
    EventResource::unschedulable_pod, actions::update_pod_scheduling_gates_eliminated, {}};
inline constexpr ClusterEvent k_pod_update{EventResource::unschedulable_pod, actions::update, {}};

inline std::shared_ptr<model::Pod> make_pod(const std::string& name, std::int32_t priority = 0) {
  auto pod = std::make_shared<model::Pod>();
  pod->ns = "default";
  pod->name = name;
  pod->uid = "uid-" + name;
  pod->scheduler_name = "default-scheduler";
  pod->priority = priority;
  return pod;
}

inline PluginSet plugins(std::initializer_list<PluginIndex> list) {
  PluginSet set;
  for (const PluginIndex plugin : list) set.insert(plugin);
  return set;
}
inline Rejectors rejected_by(std::initializer_list<PluginIndex> list) { return {plugins(list), {}}; }

/// Higher priority first, then earlier; gates are spec.schedulingGates. Records what it was asked.
class FakePolicy final : public QueuePolicy {
 public:
  explicit FakePolicy(bool by_key = true) : by_key_(by_key) {}
  bool ordered_by_key() const override { return by_key_; }
  OrderKey key(const model::QueuedPod& p) override {
    if (!by_key_) return {};
    const auto rank = static_cast<std::uint64_t>(std::int64_t{p.pod->priority} + (std::int64_t{1} << 31));
    return {{~rank, static_cast<std::uint64_t>(p.enqueued_ns), 0, 0}};
  }
  bool before(const model::QueuedPod& a, const model::QueuedPod& b) override {
    if (a.pod->priority != b.pod->priority) return a.pod->priority > b.pod->priority;
    return a.enqueued_ns < b.enqueued_ns;
  }
  std::optional<Gate> pre_enqueue(const model::QueuedPod& p, PluginIndex first) override {
    ++gate_runs;
    last_first = first;
    if (!p.pod->spec->gates.empty())
      return Gate{k_gates, "waiting for scheduling gates: [" + p.pod->spec->gates.front() + "]"};
    if (closed_for.count(p.pod->name) != 0) return Gate{k_claims, "waiting for a claim"};
    return std::nullopt;
  }
  std::uint64_t classify(const model::Pod& pod) override { return std::hash<std::string>{}(pod.spec->group); }

  Grouping group_of(const model::Pod& pod) override {
    ++group_asks;
    if (group_unknown_of.count(pod.name) != 0) return Gate{k_claims, "no group is known"};
    return pod.spec->group.get();
  }

  int gate_runs = 0, group_asks = 0;
  PluginIndex last_first = model::k_no_plugin;
  std::set<std::string> closed_for;        // pods that the second gate holds
  std::set<std::string> group_unknown_of;  // pods whose group cannot be told

 private:
  bool by_key_;
};

inline Registration on(EventResource resource, model::EventActions what, PluginIndex plugin, Hint hint = {}) {
  Registration registration;
  registration.registered = {resource, what, {}};
  registration.plugin = plugin;
  registration.hint = std::move(hint);
  return registration;
}

/// Makes a Hint of a question about one pod.
inline Hint hint_per_pod(std::function<bool(const model::Pod& pod, const EventObjects& objects)> worth) {
  return [worth = std::move(worth)](const HintCall& call, std::uint64_t* queue) {
    for (std::size_t i = 0; i < call.pods.size(); ++i)
      if (worth(**call.pods[i], call.objects)) queue[i >> 6] |= std::uint64_t{1} << (i & 63);
  };
}

/// A queue over a manual clock that starts at a given wall second, with the events of a few upstream plugins.
struct QueueFixture {
  explicit QueueFixture(double wall_s = 100.0, QueueOptions options = {}, bool by_key = true)
      : clock(static_cast<std::int64_t>(wall_s * 1e9)), policy(by_key) {
    queue.emplace(
        options, table(), policy, [this](const model::Pod& pod) { return lookup(pod); }, clock);
  }

  HintTable table() {
    ProfileHints profile;
    profile.scheduler_name = "default-scheduler";
    auto& all = profile.registrations;
    append_registrations(all,
                         {on(EventResource::pod, actions::remove, k_fit),
                          on(EventResource::node, actions::add | actions::update_node_allocatable, k_fit, fit_hint())});
    append_registrations(all, {on(EventResource::node, actions::add | actions::update_node_label, k_affinity)});
    append_registrations(all, {on(EventResource::node, actions::add | actions::update_node_taint, k_taints)});
    append_registrations(all, {on(EventResource::pod, actions::update_pod_scheduling_gates_eliminated, k_gates,
                                  hint_per_pod([](const model::Pod& pod, const EventObjects& objects) {
                                    return objects.new_pod != nullptr && objects.new_pod->uid == pod.uid;
                                  }))});
    append_registrations(all, {on(EventResource::resource_claim, actions::add | actions::update, k_claims)});
    return HintTable({std::move(profile)});
  }
  Hint fit_hint() {
    return hint_per_pod([this](const model::Pod& pod, const EventObjects&) {
      asked.push_back(pod.name);
      return fits;
    });
  }
  PodPtr lookup(const model::Pod& pod) const {
    const auto it = cluster.find(pod.name);
    return it == cluster.end() ? nullptr : it->second;
  }

  PodPtr add(const std::string& name, std::int32_t priority = 0) { return add(make_pod(name, priority)); }
  PodPtr add(PodPtr pod) {
    cluster[pod->name] = pod;
    queue->add(pod);
    return pod;
  }
  /// Pops and expects this pod.
  Ticket pop(const std::string& name) {
    std::optional<Ticket> ticket = queue->pop();
    EXPECT_TRUE(ticket.has_value()) << "expected " << name;
    if (!ticket) return {};
    EXPECT_EQ(ticket->pod()->name, name);
    return std::move(*ticket);
  }
  std::string pop_name() {
    std::optional<Ticket> ticket = queue->pop();
    if (!ticket) return "";
    const std::string name = ticket->pod()->name;
    queue->done(std::move(*ticket));
    return name;
  }
  void fail(const std::string& name, const Rejectors& rejectors) {
    const Status status = queue->requeue(pop(name), rejectors, nullptr);
    EXPECT_TRUE(status.ok());
  }
  PendingPod find(const std::string& name) const {
    for (PendingPod& pod : queue->pending_pods())
      if (pod.pod->name == name) return pod;
    return {};
  }
  Place place(const std::string& name) const { return find(name).place; }
  IncomingCount incoming(const std::string& label) const {
    for (const IncomingCount& count : queue->counts().incoming)
      if (count.label == label) return count;
    return {};
  }
  std::int64_t waiting_for(PluginIndex plugin) const {
    for (const RejectorCount& count : queue->counts().rejectors)
      if (count.plugin == plugin) return count.pods;
    return 0;
  }
  /// Keeps the scheduler busy, so that nothing is popped out of its back-off early.
  double now_s() const { return static_cast<double>(queue->now_ns()) / 1e9; }

  ManualClock clock;
  FakePolicy policy;
  std::map<std::string, PodPtr> cluster;
  bool fits = true;  // what the fit hint answers
  std::vector<std::string> asked;
  std::optional<SchedulingQueue> queue;
};

}  // namespace berth::queue::testing
