// SPDX-License-Identifier: Apache-2.0
#include "queue/queue_core.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "observe/log.hpp"

namespace berth::queue {

namespace {
constexpr model::ClusterEvent k_force_activate{model::EventResource::any, model::actions::all, "ForceActivate"};
constexpr model::ClusterEvent k_timeout{model::EventResource::any, model::actions::all, "UnschedulableTimeout"};

// As upstream's log has them.
constexpr std::string_view k_active = "Active", k_backoff = "Backoff", k_unschedulable = "Unschedulable";
}  // namespace

QueueCore::QueueCore(QueueOptions options, HintTable hints, QueuePolicy& policy, PodLookup lookup,
                     std::int64_t start_ns)
    : options_(options),
      hints_(std::move(hints)),
      lookup_(std::move(lookup)),
      policy_(policy),
      active_(records_, Place::active, policy.ordered_by_key() ? nullptr : &policy),
      giving_way_(records_, Place::active, policy.ordered_by_key() ? nullptr : &policy),
      backoff_(records_, Place::backoff, policy.ordered_by_key() ? nullptr : &policy),
      error_backoff_(records_, Place::error_backoff, nullptr),
      log_(records_),
      nominator_(lookup_),
      rules_(options_.as_v1_16 ? make_rules_of_v1_16(options_, start_ns) : make_rules_of_today(options_, hints_)),
      next_leftover_scan_ns_(start_ns),
      rejected_pods_((hints_.profile_count() + 1) * model::k_max_plugins) {}

// Entering.

bool QueueCore::add(model::PodPtr pod, LabelId label, std::int64_t now_ns) {
  return move_to_active(make_record(std::move(pod), now_ns), label, false, now_ns);
}

bool QueueCore::update(const model::PodPtr& old_pod, const model::PodPtr& new_pod,
                       std::span<const model::ClusterEvent> events, std::int64_t now_ns) {
  const model::EventObjects objects{old_pod, new_pod, nullptr, nullptr, nullptr, nullptr};
  if (Record* in_flight = log_.find(*new_pod)) {
    for (const model::ClusterEvent& event : events) log_event(event, objects, label_of(event));
    in_flight->newest = new_pod;
    return false;
  }
  Record* record = queued_.find(*new_pod);
  if (record == nullptr) return add(new_pod, labels::pod_update, now_ns);
  if (record->place != Place::unschedulable) {
    if (record->place == Place::active || !rules_->change_ends_backoff())
      return replace_ready(*record, old_pod, new_pod, now_ns);
    detach(*record);
    set_pod(*record, new_pod);
    nominator_.update(*old_pod, new_pod);
    return move_to_active(*record, labels::pod_update, true, now_ns);
  }
  const bool group_held_it = record->gated() && record->group_gate != nullptr;
  pool_.remove(*record);
  set_pod(*record, new_pod);
  pool_.insert(*record);
  nominator_.update(*old_pod, new_pod);
  if (group_held_it) return move_to_active(*record, labels::pod_update, false, now_ns);  // as far as its gates
  for (const model::ClusterEvent& event : events) {
    const Requeue how = rules_->judge_one(event, objects, *record);
    const bool poppable = move_as(*record, how, label_of(event), now_ns);
    if (record->place == Place::active || (options_.pops_from_backoff && record->place != Place::unschedulable))
      return poppable;
  }
  return false;
}

bool QueueCore::replace_ready(Record& record, const model::PodPtr& old_pod, const model::PodPtr& new_pod,
                              std::int64_t now_ns) {
  const Place place = record.place;
  detach(record);  // the order may depend on what changed
  set_pod(record, new_pod);
  nominator_.update(*old_pod, new_pod);
  if (record.group_gate != nullptr)
    return move_to_active(record, labels::pod_update, false, now_ns);  // as far as its gate
  if (place == Place::active)
    active_.push(record, key_of(record));
  else if (place == Place::backoff)
    backoff_.push(record, key_of(record), record.backoff_until_ns);
  else
    error_backoff_.push(record, {}, record.backoff_until_ns);
  return place == Place::active;
}

void QueueCore::remove(const model::Pod& pod) {
  nominator_.remove(pod);
  rules_->forgotten(pod);
  if (Record* in_flight = log_.holder(pod)) in_flight->removed = true;
  Record* record = queued_.find(pod);
  if (record == nullptr) return;
  if (record->place == Place::unschedulable) count_rejectors(*record, -1);
  forget(*record);
}

// Moving.

bool QueueCore::move_to_active(Record& record, LabelId label, bool from_backoff, std::int64_t now_ns) {
  // What left the back-off passed its gates on the way in.
  if (!(options_.pops_from_backoff && from_backoff)) ask_gates(record);
  if (record.gated()) {
    const Record* queued = queued_.find(*record.pod);
    if (queued != nullptr && queued != &record && queued->place != Place::unschedulable) {
      forget(record);  // a pod of this name is ready already
      return false;
    }
    put_into_pool(record, label);
    return false;
  }
  if (record.first_attempt_ns == 0) record.first_attempt_ns = now_ns;
  index(record);
  detach(record);
  active_.push(record, key_of(record));
  ++incoming_[label].active;
  log_move(record, label, k_active);
  if (label == labels::pod_add || label == labels::pod_update) nominator_.add(record.pod, model::Nomination{});
  return true;
}

bool QueueCore::move_to_backoff(Record& record, LabelId label) {
  if (options_.pops_from_backoff) {
    ask_gates(record);
    if (record.gated()) {
      put_into_pool(record, label);
      return false;
    }
  }
  index(record);
  detach(record);
  if (record.rejectors().empty())
    error_backoff_.push(record, {}, record.backoff_until_ns);
  else
    backoff_.push(record, key_of(record), record.backoff_until_ns);
  ++incoming_[label].backoff;
  log_move(record, label, k_backoff);
  return options_.pops_from_backoff;
}

bool QueueCore::move_as(Record& record, Requeue how, LabelId label, std::int64_t now_ns) {
  if (how == Requeue::skip) {
    put_into_pool(record, label);
    return false;
  }
  if (how == Requeue::after_backoff && rules_->backing_off(record, now_ns)) return move_to_backoff(record, label);
  return move_to_active(record, label, false, now_ns);
}

void QueueCore::put_into_pool(Record& record, LabelId label) {
  const Record* queued = queued_.find(*record.pod);
  if (queued == nullptr || queued->place != Place::unschedulable) ++incoming_[label].unschedulable;
  index(record);
  if (record.place == Place::unschedulable) return;
  detach(record);
  pool_.insert(record);
  log_move(record, label, k_unschedulable);
}

void QueueCore::log_move(const Record& record, LabelId label, std::string_view queue) {
  const bool comes_back = label == labels::attempt_failure && record.place != Place::unschedulable;
  if (const observe::V v(comes_back ? 3 : 5); v)
    v.info(record.gated() ? "Pod moved to an internal scheduling queue, because the pod is gated"
                          : "Pod moved to an internal scheduling queue",
           {{"pod", *record.pod}, {"event", incoming_[label].label}, {"queue", queue}});
}

void QueueCore::detach(Record& record) {
  switch (record.place) {
    case Place::active:
      if (std::exchange(record.gives_way, false))
        giving_way_.remove(record);
      else
        active_.remove(record);
      break;
    case Place::backoff:
      backoff_.remove(record);
      break;
    case Place::error_backoff:
      error_backoff_.remove(record);
      break;
    case Place::unschedulable:
      pool_.remove(record);
      break;
    case Place::nowhere:
    case Place::in_flight:
      break;
  }
}

void QueueCore::index(Record& record) {
  Record* queued = queued_.find(*record.pod);
  if (queued == &record) return;
  if (queued != nullptr) forget(*queued);
  queued_.insert(record);
}

void QueueCore::forget(Record& record) {
  detach(record);
  queued_.erase(record);
  groups_.remove(record);
  records_.give_back(record);
}

// Events.

bool QueueCore::move_all(const model::ClusterEvent& event, const model::EventObjects& objects,
                         const PreCheck& pre_check, std::int64_t now_ns) {
  candidates_.clear();
  if (!rules_->hear(event, objects, pre_check, pool_, candidates_)) return false;
  if (candidates_.empty() && log_.empty()) return false;
  return move_candidates(event, objects, label_of(event), now_ns);
}

bool QueueCore::move_candidates(const model::ClusterEvent& event, const model::EventObjects& objects, LabelId label,
                                std::int64_t now_ns) {
  std::erase_if(candidates_,
                [&](const Record* record) { return record->gated() && !hints_.asked(record->gate, event); });
  rules_->judge(event, objects, candidates_, requeues_);
  bool poppable = false;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (requeues_[i] == Requeue::skip) continue;
    candidates_[i]->after_flush = label == labels::timeout;
    detach(*candidates_[i]);
    poppable |= move_as(*candidates_[i], requeues_[i], label, now_ns);
  }
  if (!log_.empty()) log_event(event, objects, label);
  return poppable;
}

void QueueCore::log_event(const model::ClusterEvent& event, const model::EventObjects& objects, LabelId label) {
  ++incoming_[label].logged;
  log_.append({event, objects, label}, [this](LabelId dropped) { --incoming_[dropped].logged; });
}

bool QueueCore::activate(std::span<const model::PodPtr> pods, std::int64_t now_ns) {
  bool poppable = false;
  for (const model::PodPtr& pod : pods) poppable |= activate_one(pod, now_ns);
  return poppable;
}

bool QueueCore::activate_one(const model::PodPtr& pod, std::int64_t now_ns) {
  Record* record = queued_.find(*pod);
  if (record != nullptr && record->place != Place::active) {
    const bool from_backoff = record->place != Place::unschedulable;
    if (from_backoff) detach(*record);
    if (move_to_active(*record, labels::force_activate, from_backoff, now_ns)) return true;
  }
  if (log_.find(*pod) != nullptr)
    log_event(k_force_activate, {nullptr, pod, nullptr, nullptr, nullptr, nullptr}, labels::force_activate);
  return false;
}

// Popping and coming back.

/// The first of the active pods that need not give way, then the first of those that do.
Record* QueueCore::next(std::int64_t now_ns) {
  if (!long_attempts_.any() && giving_way_.empty()) [[likely]]
    return active_.pop();
  if (long_attempts_.forget_ended(now_ns))
    while (Record* record = giving_way_.pop()) {
      record->gives_way = false;
      active_.push(*record, key_of(*record));
    }
  while (Record* record = active_.pop()) {
    if (!long_attempts_.gives_way(*record->pod)) return record;
    giving_way_.push(*record, key_of(*record));
    record->gives_way = true;
  }
  Record* const record = giving_way_.pop();
  if (record != nullptr) record->gives_way = false;
  return record;
}

Record* QueueCore::pop(std::int64_t now_ns) {
  long_attempts_.end(now_ns);
  for (;;) {
    Record* record = next(now_ns);
    if (record == nullptr) {
      if (!options_.pops_from_backoff) return nullptr;
      record = backoff_.pop();
      if (record == nullptr) return nullptr;
      ++incoming_[labels::pop_from_backoff].active;
    }
    ++record->attempts;
    if (log_.find(*record->pod) == nullptr) {
      take_off(*record);
      long_attempts_.begin(record->pod, now_ns);
      return record;
    }
    observe::error("A pod is queued while in flight; the queued one is dropped",
                   {{"pod", *record->pod}, {"uid", record->pod->uid.text()}});
    forget(*record);
  }
}

void QueueCore::take_off(Record& record) {
  queued_.erase(record);
  log_.start(record);
  record.place = Place::in_flight;
  ++incoming_[labels::pod_popped].logged;
  ++pops_;
  rules_->popped();
  count_rejectors(record, -1);
}

Record* QueueCore::pop_specific(const model::Pod& pod, std::int64_t now_ns) {
  Record* record = queued_.find(pod);
  if (record == nullptr) return nullptr;
  activate_one(record->pod, now_ns);
  record = queued_.find(pod);
  if (record == nullptr || record->place != Place::active || log_.find(*record->pod) != nullptr) return nullptr;
  detach(*record);
  ++record->attempts;
  take_off(*record);
  return record;
}

std::vector<Record*> QueueCore::pop_group(const Record& first, std::int64_t now_ns) {
  std::vector<model::PodPtr> waiting;
  for (const Record* record : groups_.members(first.group))
    if (record->place != Place::in_flight && record->place != Place::nowhere) waiting.push_back(record->pod);
  std::vector<Record*> taken;
  for (const model::PodPtr& pod : waiting)
    if (Record* record = pop_specific(*pod, now_ns)) taken.push_back(record);
  return taken;
}

void QueueCore::sort(std::vector<Record*>& records) {
  std::unordered_map<const Record*, OrderKey> keys;
  for (const Record* record : records) keys.emplace(record, key_of(*record));
  std::sort(records.begin(), records.end(), [&](const Record* a, const Record* b) {
    const OrderKey &ka = keys.at(a), &kb = keys.at(b);
    if (ka != kb) return ka < kb;
    if (!policy_.ordered_by_key()) {
      if (policy_.before(seen_by_policy(*a), seen_by_policy(*b))) return true;
      if (policy_.before(seen_by_policy(*b), seen_by_policy(*a))) return false;
    }
    return a->arrival < b->arrival;
  });
}

Place QueueCore::queued_place(const model::Pod& pod) const {
  const Record* record = queued_.find(pod);
  return record == nullptr ? Place::nowhere : record->place;
}

bool QueueCore::requeue(Record& record, const Rejectors& rejectors, model::PodPtr fresh, std::int64_t now_ns) {
  long_attempts_.end(record.pod, now_ns);
  set_pod(record, std::move(fresh));
  record.newest = nullptr;
  record.after_flush = false;
  record.gate = model::k_no_plugin;
  record.gate_message = {};
  record.unschedulable = rejectors.unschedulable;
  record.pending = rejectors.pending;
  if (record.rejectors().empty()) {
    ++record.error_count;
  } else {
    ++record.unschedulable_count;
    record.error_count = 0;
  }
  record.enqueued_ns = now_ns;
  rules_->failed(record);
  count_rejectors(record, +1);
  const Requeue how = after_missed_events(record);
  close_log(record);
  log_.leave(record);
  record.place = Place::nowhere;
  return move_as(record, how, labels::attempt_failure, now_ns);
}

Requeue QueueCore::after_missed_events(Record& record) {
  if (const std::optional<Requeue> how = rules_->after_attempt(record)) return *how;
  if (record.rejectors().empty() || !record.logged || !log_.complete(record)) return Requeue::after_backoff;
  Requeue result = Requeue::skip;
  log_.for_each_since(record, [&](const InFlightLog::Entry& entry) {
    const Requeue how = rules_->judge_one(entry.event, entry.objects, record);
    if (how != Requeue::skip) result = how;
    return how == Requeue::skip || (how == Requeue::after_backoff && !record.pending.empty());
  });
  return result;
}

void QueueCore::close_log(Record& record) {
  if (!record.logged) return;
  --incoming_[labels::pod_popped].logged;
  log_.end(record, [this](LabelId dropped) { --incoming_[dropped].logged; });
}

void QueueCore::done(Record& record, std::int64_t now_ns) {
  long_attempts_.end(record.pod, now_ns);
  close_log(record);
  log_.leave(record);
  groups_.remove(record);
  records_.give_back(record);
}

void QueueCore::close_logs() {
  std::vector<std::uint32_t> in_flight;
  records_.for_each([&](const Record& record) {
    if (record.logged) in_flight.push_back(record.slot);
  });
  for (const std::uint32_t slot : in_flight) close_log(records_[slot]);
}

// Time.

bool QueueCore::flush_due(std::int64_t now_ns) {
  const auto over = [&](ReadyHeap<true>& heap) {
    const Record* head = heap.top();
    return head != nullptr && rules_->leaves_backoff_ns(*head) <= now_ns;
  };
  return over(backoff_) || over(error_backoff_) || (now_ns >= next_leftover_scan_ns_ && !pool_.empty());
}

bool QueueCore::flush(std::int64_t now_ns) {
  bool poppable = flush_backoff(now_ns);
  poppable |= flush_leftovers(now_ns);
  return poppable;
}

bool QueueCore::flush_backoff(std::int64_t now_ns) {
  bool poppable = false;
  for (ReadyHeap<true>* heap : {&backoff_, &error_backoff_}) {
    for (Record* head = heap->top(); head != nullptr && rules_->leaves_backoff_ns(*head) <= now_ns;
         head = heap->top()) {
      heap->pop();
      poppable |= move_to_active(*head, labels::backoff_complete, true, now_ns);
    }
  }
  return poppable;
}

bool QueueCore::flush_leftovers(std::int64_t now_ns) {
  if (now_ns < next_leftover_scan_ns_) return false;
  const std::int64_t missed = (now_ns - next_leftover_scan_ns_) / options_.leftover_period_ns;
  // A late call sees what the scan would have seen when it was due, as upstream's ticker does.
  const std::int64_t scan_ns = next_leftover_scan_ns_ + missed * options_.leftover_period_ns;
  next_leftover_scan_ns_ = scan_ns + options_.leftover_period_ns;
  candidates_.clear();
  for (Record* record : pool_.records())
    if (scan_ns - record->enqueued_ns > options_.leftover_age_ns) candidates_.push_back(record);
  return !candidates_.empty() && move_candidates(k_timeout, {}, labels::timeout, now_ns);
}

std::optional<std::int64_t> QueueCore::next_backoff_ns() {
  std::optional<std::int64_t> next;
  for (ReadyHeap<true>* heap : {&backoff_, &error_backoff_}) {
    const Record* head = heap->top();
    if (head == nullptr) continue;
    const std::int64_t at_ns = rules_->leaves_backoff_ns(*head);
    next = next ? std::min(*next, at_ns) : at_ns;
  }
  return next;
}

std::optional<std::int64_t> QueueCore::next_scan_ns() const noexcept {
  return pool_.empty() ? std::nullopt : std::optional(next_leftover_scan_ns_);
}

std::optional<std::int64_t> QueueCore::next_leftover_ns() const {
  std::optional<std::int64_t> oldest_ns;
  for (const Record* record : pool_.records())
    if (!record->gated() || hints_.asked(record->gate, k_timeout))
      oldest_ns = oldest_ns ? std::min(*oldest_ns, record->enqueued_ns) : record->enqueued_ns;
  if (!oldest_ns) return std::nullopt;
  const std::int64_t due_ns = *oldest_ns + options_.leftover_age_ns + 1;
  if (due_ns <= next_leftover_scan_ns_) return next_leftover_scan_ns_;
  const std::int64_t period_ns = options_.leftover_period_ns;
  return next_leftover_scan_ns_ + (due_ns - next_leftover_scan_ns_ + period_ns - 1) / period_ns * period_ns;
}

// Records, and what is counted of them.

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
    record.gate_message = {};
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

std::vector<const Record*> QueueCore::records_by_arrival(const std::function<bool(const Record&)>& wanted) const {
  std::vector<const Record*> records;
  records_.for_each([&](const Record& record) {
    if (wanted(record)) records.push_back(&record);
  });
  std::sort(records.begin(), records.end(), [](const Record* a, const Record* b) { return a->arrival < b->arrival; });
  return records;
}

std::vector<model::PodPtr> QueueCore::known_pods(const std::function<bool(const Record&)>& wanted) const {
  std::vector<model::PodPtr> pods;
  for (const Record* record : records_by_arrival(wanted)) pods.push_back(record->pod);
  return pods;
}

}  // namespace berth::queue
