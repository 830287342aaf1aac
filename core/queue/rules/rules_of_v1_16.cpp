// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "model/label_match.hpp"
#include "queue/rules/backoff.hpp"
#include "queue/rules/requeue_rules.hpp"

namespace berth::queue {
namespace {

using model::EventResource;
namespace actions = model::actions;

constexpr std::string_view k_services = "core/v1/services";
/// Changes of a node that move pods, and those of a waiting pod that let it try again.
constexpr model::EventActions k_node_changes = actions::update_node_allocatable | actions::update_node_label |
                                               actions::update_node_taint | actions::update_node_condition |
                                               actions::update_node_declared_feature,
                              k_own_changes = actions::update_pod_label | actions::update_pod_scale_down |
                                              actions::update_pod_toleration |
                                              actions::update_pod_scheduling_gates_eliminated |
                                              actions::update_pod_generated_resource_claim;

/// Whether a term of `waiting` may be met by a pod that got a node. Namespaces by label came later and count as met.
bool matches(const model::AffinityTerm& term, const model::Pod& assigned) {
  const bool in_namespace =
      term.namespace_selector.kind == model::Selector::Kind::match ||
      std::find(term.namespaces.begin(), term.namespaces.end(), assigned.ns_symbol) != term.namespaces.end();
  const std::span<const model::Label> labels(assigned.labels.begin(), assigned.labels.end());
  return in_namespace && term.selector.kind == model::Selector::Kind::match &&
         std::all_of(term.selector.requirements.begin(), term.selector.requirements.end(),
                     [&](const model::Requirement& r) { return model::holds(r, labels); });
}

bool wants(const model::Pod& waiting, const model::Pod& assigned) {
  const auto& terms = waiting.spec->affinity.required;
  return std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return matches(term, assigned); });
}

/// Source: kubernetes v1.16 pkg/scheduler/internal/queue/scheduling_queue.go, pod_backoff.go and
/// pkg/scheduler/eventhandlers.go. Departs: resources that came later move no pod, and neither do those that only
/// plugins of later watch: such pods are tried again after a minute; gates of pods, which came later, hold; a change of
/// a waiting pod is one of what scheduling reads.
class RulesOfV116 final : public RequeueRules {
 public:
  RulesOfV116(const QueueOptions& options, std::int64_t start_ns) : options_(options), start_ns_(start_ns) {}

  void popped() override { ++cycle_; }
  void forgotten(const model::Pod& pod) override { attempts_.erase(pod.key()); }

  void failed(Record& record) override {
    const std::int64_t now_ns = record.enqueued_ns;
    const auto is_over = [&](const Attempts& attempts) { return attempts.last_ns + options_.backoff_max_ns < now_ns; };
    if (now_ns >= next_sweep_ns_) {
      std::erase_if(attempts_, [&](const auto& entry) { return is_over(entry.second); });
      next_sweep_ns_ = now_ns + options_.backoff_max_ns;
    }
    Attempts& own = attempts_[record.pod->key()];
    if (is_over(own)) own = {};
    if (own.count == 0 || own.last_ns + duration_ns(own) <= now_ns) {
      ++own.count;
      own.last_ns = now_ns;
    }
    record.backoff_until_ns = own.last_ns + duration_ns(own);
  }
  bool backing_off(const Record& record, std::int64_t now_ns) const noexcept override {
    return record.backoff_until_ns > now_ns;
  }
  /// The first look at the back-offs, one a second, that finds it over.
  std::int64_t leaves_backoff_ns(const Record& record) const noexcept override {
    const std::int64_t after_ns = std::max<std::int64_t>(record.backoff_until_ns - start_ns_, 0);
    return start_ns_ + (after_ns + backoff::k_second_ns - 1) / backoff::k_second_ns * backoff::k_second_ns;
  }

  bool hear(const model::ClusterEvent& event, const model::EventObjects& objects, const PreCheck&,
            const WaitingPool& pool, std::vector<Record*>& out) override {
    // What changed of a node was looked at only while pods waited.
    const bool unseen =
        event.resource == EventResource::node && (event.actions & actions::remove) == 0 && pool.records().empty();
    if (!event.wildcard() && !retries(event, objects)) {
      if (unseen) moved_in_cycle_ = cycle_;
      return false;
    }
    moved_in_cycle_ = cycle_;
    const bool by_affinity = event.resource == EventResource::assigned_pod && (event.actions & actions::remove) == 0;
    for (Record* record : pool.records())
      if (!by_affinity || (objects.new_pod != nullptr && wants(*record->pod, *objects.new_pod))) out.push_back(record);
    return true;
  }
  void judge(const model::ClusterEvent&, const model::EventObjects&, std::span<Record* const> records,
             std::vector<Requeue>& requeues) override {
    moved_in_cycle_ = cycle_;
    requeues.assign(records.size(), Requeue::after_backoff);
  }
  Requeue judge_one(const model::ClusterEvent& event, const model::EventObjects&, Record& record) override {
    if (event.actions == actions::update) return Requeue::skip;  // nothing by name: its status
    attempts_.erase(record.pod->key());
    record.backoff_until_ns = 0;
    return Requeue::after_backoff;
  }
  bool change_ends_backoff() const noexcept override { return true; }
  /// Something happened since the last pod was popped, or nothing did.
  std::optional<Requeue> after_attempt(const Record&) const override {
    return moved_in_cycle_ >= cycle_ ? Requeue::after_backoff : Requeue::skip;
  }
  /// They were looked at like any other while no pod waited: see hear().
  bool wants_nameless_changes() const noexcept override { return true; }
  /// What retries() and judge_one() let through, whichever plugin rejected the pod.
  std::vector<WakingEvent> waking_events(std::uint16_t, const model::PluginSet&) const override {
    return {{{EventResource::node, actions::add | k_node_changes}},
            {{EventResource::assigned_pod, actions::all}},
            {{EventResource::unschedulable_pod, k_own_changes}},
            {{EventResource::persistent_volume, actions::add | actions::update}},
            {{EventResource::persistent_volume_claim, actions::add | actions::update}},
            {{EventResource::csi_node, actions::add | actions::update}},
            {{EventResource::storage_class, actions::add}},
            {{EventResource::first_watch, actions::all}, k_services}};
  }

 private:
  struct Attempts {
    std::uint32_t count = 0;
    std::int64_t last_ns = 0;
  };

  /// The kinds of events that moved pods then; of those that plugins watch, changes of services.
  static bool retries(const model::ClusterEvent& event, const model::EventObjects& objects) noexcept {
    const bool appears = (event.actions & ~actions::remove) != 0;
    switch (event.resource) {
      case EventResource::node:
        return (event.actions & (actions::add | k_node_changes)) != 0;
      case EventResource::assigned_pod:
        return true;
      case EventResource::persistent_volume:
      case EventResource::persistent_volume_claim:
      case EventResource::csi_node:
        return appears;
      case EventResource::storage_class:
        return (event.actions & actions::add) != 0 && objects.new_object != nullptr &&
               objects.new_object->waits_for_first_consumer;
      default:
        return event.resource >= EventResource::first_watch && is_service(objects);
    }
  }
  static bool is_service(const model::EventObjects& objects) noexcept {
    const model::ObjectPtr& object = objects.new_object != nullptr ? objects.new_object : objects.old_object;
    return object != nullptr && object->resource == k_services;
  }
  std::int64_t duration_ns(const Attempts& attempts) const noexcept {
    return backoff::duration_ns(attempts.count, options_.backoff_initial_ns, options_.backoff_max_ns);
  }

  const QueueOptions& options_;
  const std::int64_t start_ns_;
  std::map<std::string, Attempts> attempts_;  // by namespace/name; those that are over go at the next sweep
  std::int64_t next_sweep_ns_ = 0;
  std::int64_t cycle_ = 0, moved_in_cycle_ = -1;
};

}  // namespace

std::unique_ptr<RequeueRules> make_rules_of_v1_16(const QueueOptions& options, std::int64_t start_ns) {
  return std::make_unique<RulesOfV116>(options, start_ns);
}

}  // namespace berth::queue
