// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "binding/binder.hpp"
#include "unit/binding/scripted_plugins.hpp"

namespace berth::binding::testing {

using model::PodPtr;
using namespace std::chrono_literals;

inline constexpr model::PluginIndex k_gang = 3, k_quota = 4, k_waiting_for_help = 5;

/// Keeps what was written, one line per call; a call named in `refuse` fails.
class RecordingWriter final : public cluster::ClusterWriter {
 public:
  void bind(const cluster::PodRef& pod, std::string_view node, Done done) override {
    write("bind " + pod.name + " to " + std::string(node), "bind", done);
  }
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override {
    patches.push_back(patch);
    std::string line = "status " + pod.name;
    for (const auto& c : patch.conditions)
      line += " " + c.type + "=" + c.status + "/" + c.reason + " \"" + c.message + "\"";
    if (patch.nominated_node) line += " nominated=" + (patch.nominated_node->empty() ? "none" : *patch.nominated_node);
    write(line, "status", done);
  }
  bool is_patching_status(const cluster::PodRef&) const override { return is_patching; }
  void patch_pod_metadata(const cluster::PodRef& pod, const cluster::PodMetadataPatch&, Done done) override {
    write("metadata " + pod.name, "metadata", done);
  }
  void evict(const cluster::PodRef& pod, Done done) override { write("evict " + pod.name, "evict", done); }
  void patch_object(const cluster::ObjectRef& object, std::string_view, Done done) override {
    write("patch " + object.resource + " " + object.name, "patch", done);
  }
  void record_event(const cluster::EventRecord& e, Done done) override {
    if (on_event) on_event();
    events.push_back(e);
    write("event " + e.regarding.name + " " + (e.warning ? "Warning " : "Normal ") + e.reason + "/" + e.action + " \"" +
              e.note + "\" by " + e.controller,
          "event", done);
  }

  std::vector<std::string> lines;
  std::vector<cluster::PodStatusPatch> patches;
  bool is_patching = false;
  std::vector<cluster::EventRecord> events;
  std::string refuse;
  std::function<void()> on_event;  // before an event is kept

 private:
  void write(std::string line, const std::string& kind, const Done& done) {
    lines.push_back(std::move(line));
    if (kind == refuse)
      done(Error{"the API server refuses", ErrorCode::conflict});
    else
      done(Unit{});
  }
};

class FifoPolicy final : public queue::QueuePolicy {
 public:
  bool ordered_by_key() const override { return true; }
  queue::OrderKey key(const model::QueuedPod&) override { return {}; }
  bool before(const model::QueuedPod&, const model::QueuedPod&) override { return false; }
  std::optional<queue::Gate> pre_enqueue(const model::QueuedPod&, model::PluginIndex) override { return std::nullopt; }
  std::uint64_t classify(const model::Pod&) override { return 0; }
};

inline Verdict no(const std::string& reason, Code code = Code::unschedulable) {
  return {code, model::k_no_plugin, {reason}};
}

/// A queue with one pod, a cache with one node, and a binder between them; time is manual, steps run inline.
struct BindingFixture : FrameworkFixture {
  BindingFixture() {
    queue::ProfileHints hints;
    hints.scheduler_name = "default-scheduler";
    queue::Registration registration;
    registration.registered = {model::EventResource::pod, model::actions::remove, {}};
    registration.plugin = k_waiting_for_help;
    hints.registrations.push_back(registration);
    registration.plugin = k_gang;
    registration.hint = [this](const queue::HintCall& call, std::uint64_t* bits) {
      freed_on = symbols.text(call.objects.old_pod->node_name);
      bits[0] = ~std::uint64_t{0};
    };
    hints.registrations.push_back(registration);
    queue.emplace(
        queue::QueueOptions{}, queue::HintTable({hints}), policy, [this](const model::Pod& p) { return lookup(p); },
        clock);
    failures.emplace(
        *queue, [this](const model::Pod& p) { return lookup(p); }, writer, symbols, attempts);
    make_binder({});
    auto node = make_node("n1");
    node->uid = "1";
    cache.add_node(node);
    refresh();
  }
  void make_binder(BinderOptions options, std::function<void(cache::Assumption)> keep_bound = {}) {
    binder.emplace(options, BinderParts{executor, waiting, *failures, *queue, writer, symbols, attempts,
                                        std::move(keep_bound), gate.get()});
  }

  PodPtr add(const std::string& name) {
    auto p = std::make_shared<model::Pod>();
    p->ns = "default";
    p->name = name;
    p->uid = "uid-" + name;
    p->scheduler_name = "default-scheduler";
    p->spec.edit().generation = 7;
    known[name] = p;
    queue->add(p);
    return p;
  }
  /// From now on bindings pass a gate that knows n1, of uid "1", which is where pods are placed.
  void make_gate(bool in_step = true, const BinderOptions& options = {}) {
    gate = std::make_shared<cluster::BindingGate>(
        clock, cluster::BindingGateOptions{.after = [this](std::int64_t delay_ns, std::function<void()> task) {
          timers.start(delay_ns, std::move(task));
        }});
    gate->node_present("n1", "1");
    gate->watch_in_step(in_step);
    make_binder(options);
  }
  PodPtr lookup(const model::Pod& p) const {
    const auto it = known.find(p.name);
    return it == known.end() ? nullptr : it->second;
  }
  /// Adds pod p, pops it, assumes it on n1 and starts its binding.
  PodPtr place(std::vector<PermitWait> waits = {}) {
    const PodPtr p = add("p");
    start(p, std::move(waits));
    return p;
  }
  void start(const PodPtr& p, std::vector<PermitWait> waits = {}) {
    std::optional<queue::Ticket> ticket = queue->pop();
    ASSERT_TRUE(ticket.has_value());
    ASSERT_EQ(ticket->pod()->name, p->name);
    start(std::move(*ticket), p, std::move(waits), barrier);
  }
  /// Assumes the pod, as the cycle saw it, on n1 and starts its binding.
  void start(queue::Ticket ticket, const PodPtr& pod, std::vector<PermitWait> waits,
             std::shared_ptr<GroupBarrier> held_by) {
    Result<cache::Assumption> assumption = cache.assume(pod, symbols.find("n1"));
    ASSERT_TRUE(assumption.ok());
    cycle::Placement placement{std::move(assumption).value(), pipeline.reserve(pod, slot("n1")), row("n1").node,
                               std::move(waits)};
    binder->start(std::move(ticket), std::move(placement), {0, std::move(held_by)});
  }
  queue::PendingPod pending(const std::string& name) const {
    for (queue::PendingPod& p : queue->pending_pods())
      if (p.pod->name == name) return p;
    return {};
  }
  bool assumed() const { return cache.is_assumed("uid-p"); }

  FifoPolicy policy;
  std::map<std::string, PodPtr> known;
  std::string freed_on;  // node of the last deletion a hint saw
  std::optional<queue::SchedulingQueue> queue;
  RecordingWriter writer;
  AttemptCounts attempts;
  Timers timers{clock};
  WaitingPods waiting{timers};
  std::shared_ptr<cluster::BindingGate> gate;  // null: none
  std::shared_ptr<GroupBarrier> barrier;       // of the pods that are started; null: none
  InlineExecutor executor;
  std::optional<FailureHandler> failures;
  ScriptedPlugins pipeline{*this, writer};
  std::optional<Binder> binder;
};

using Lines = std::vector<std::string>;

}  // namespace berth::binding::testing
