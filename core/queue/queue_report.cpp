// SPDX-License-Identifier: Apache-2.0
// The parts of QueueCore that keep records and numbers straight, and those that read them out.
#include <algorithm>

#include "queue/queue_core.hpp"

namespace berth::queue {

Record& QueueCore::make_record(model::PodPtr pod, std::int64_t now_ns) {
  Record& record = records_.make();
  record.name_hash = hash_of_name(*pod);
  record.uid_hash = hash_of_uid(*pod);
  record.arrival = next_arrival_++;
  record.enqueued_ns = now_ns;
  set_pod(record, std::move(pod));
  return record;
}

void QueueCore::set_pod(Record& record, model::PodPtr pod) {
  record.uid_hash = hash_of_uid(*pod);
  record.profile = hints_.profile_of(pod->scheduler_name);
  record.pod_class = policy_.classify(*pod);
  QueuePolicy::Grouping group = policy_.group_of(*pod);
  Gate* const gate = std::get_if<Gate>(&group);
  groups_.assign(record, gate != nullptr ? std::string() : std::get<std::string>(std::move(group)));
  record.group_gate = gate != nullptr ? std::make_unique<Gate>(std::move(*gate)) : nullptr;
  record.pod = std::move(pod);
}

void QueueCore::ask_gates(Record& record) {
  std::optional<Gate> gate;
  if (record.group_gate != nullptr)
    gate = *record.group_gate;
  else
    gate = policy_.pre_enqueue(seen_by_policy(record), record.gate);
  if (!gate) {
    record.gate = model::k_no_plugin;
    record.gate_message.clear();
    return;
  }
  if (!record.rejectors().contains(gate->plugin)) ++rejected_pods(record, gate->plugin);
  pool_.reject(record, gate->plugin);
  record.gate = gate->plugin;
  record.gate_message = std::move(gate->message);
}

OrderKey QueueCore::key_of(const Record& record) { return policy_.key(seen_by_policy(record)); }

LabelId QueueCore::label_of(const model::ClusterEvent& event) {
  return incoming_.id(event.label.empty() ? event.name() : std::string(event.label));
}

std::int64_t& QueueCore::rejected_pods(const Record& record, model::PluginIndex plugin) {
  const std::size_t profile =
      std::min<std::size_t>(record.profile, hints_.profile_count());  // the last row: no profile
  return rejected_pods_[profile * model::k_max_plugins + plugin];
}

void QueueCore::count_rejectors(const Record& record, std::int64_t change) {
  record.rejectors().for_each([&](model::PluginIndex plugin) { rejected_pods(record, plugin) += change; });
}

namespace {

std::vector<const Record*> by_arrival(const RecordTable& table, const std::function<bool(const Record&)>& wanted) {
  std::vector<const Record*> records;
  table.for_each([&](const Record& record) {
    if (wanted(record)) records.push_back(&record);
  });
  std::sort(records.begin(), records.end(), [](const Record* a, const Record* b) { return a->arrival < b->arrival; });
  return records;
}

}  // namespace

std::vector<model::PodPtr> QueueCore::known_pods(const std::function<bool(const Record&)>& wanted) const {
  std::vector<model::PodPtr> pods;
  for (const Record* record : by_arrival(records_, wanted)) pods.push_back(record->pod);
  return pods;
}

std::vector<PendingPod> QueueCore::pending_pods() const {
  const std::vector<const Record*> records = by_arrival(records_, [](const Record&) { return true; });
  std::vector<PendingPod> result;
  result.reserve(records.size());
  for (const Record* r : records) {
    PendingPod pod;
    pod.pod = r->pod;
    pod.place = r->place;
    pod.attempts = r->attempts;
    pod.unschedulable_count = r->unschedulable_count;
    pod.error_count = r->error_count;
    pod.pod_class = r->pod_class;
    pod.enqueued_ns = r->enqueued_ns;
    pod.first_attempt_ns = r->first_attempt_ns;
    pod.backoff_until_ns = r->backoff_until_ns;
    pod.unschedulable_plugins = r->unschedulable;
    pod.pending_plugins = r->pending;
    pod.gate = r->gate;
    pod.gate_message = r->gate_message;
    result.push_back(std::move(pod));
  }
  return result;
}

QueueSizes QueueCore::sizes() const {
  QueueSizes sizes;
  sizes.active = active_.size() + giving_way_.size();
  sizes.backoff = backoff_.size() + error_backoff_.size();
  for (const Record* record : pool_.records()) ++(record->gated() ? sizes.gated : sizes.unschedulable);
  sizes.in_flight = log_.pods();
  sizes.logged_events = log_.events();
  sizes.logged_bytes = log_.bytes();
  return sizes;
}

QueueCounts QueueCore::counts() const {
  QueueCounts counts;
  counts.incoming = incoming_.all();
  for (std::size_t i = 0; i < rejected_pods_.size(); ++i)
    if (rejected_pods_[i] != 0)
      counts.rejectors.push_back({static_cast<std::uint16_t>(i / model::k_max_plugins),
                                  static_cast<model::PluginIndex>(i % model::k_max_plugins), rejected_pods_[i]});
  counts.pops = pops_;
  counts.long_attempts = long_attempts_.count();
  return counts;
}

}  // namespace berth::queue
