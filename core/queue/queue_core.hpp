// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "queue/group_index.hpp"
#include "queue/in_flight_log.hpp"
#include "queue/incoming_counts.hpp"
#include "queue/long_attempts.hpp"
#include "queue/nominator.hpp"
#include "queue/ready_heap.hpp"
#include "queue/record_index.hpp"
#include "queue/rules/requeue.hpp"
#include "queue/rules/requeue_rules.hpp"
#include "queue/scheduling_queue.hpp"
#include "queue/waiting_pool.hpp"

/// Private to core/queue.
namespace berth::queue {

/// The rules of the queue, without locks, waiting and tickets: those are SchedulingQueue's. Times are queue time.
///
/// A record is in one place at a time: a heap, the pool, in flight, or nowhere during a move. All but those in flight
/// are in queued_. Functions that return bool say whether a pod became poppable.
class QueueCore {
 public:
  QueueCore(QueueOptions options, HintTable hints, QueuePolicy& policy, PodLookup lookup, std::int64_t start_ns);
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  bool add(model::PodPtr pod, LabelId label, std::int64_t now_ns);
  bool update(const model::PodPtr& old_pod, const model::PodPtr& new_pod, std::span<const model::ClusterEvent> events,
              std::int64_t now_ns);
  void remove(const model::Pod& pod);
  bool move_all(const model::ClusterEvent& event, const model::EventObjects& objects, const PreCheck& pre_check,
                std::int64_t now_ns);
  bool activate(std::span<const model::PodPtr> pods, std::int64_t now_ns);
  /// The pods, in flight included, whose records are `wanted`, in order of arrival.
  std::vector<model::PodPtr> known_pods(const std::function<bool(const Record&)>& wanted) const;

  /// The attempt for the pod that was popped before ends with this, unless it was requeued or done already.
  Record* pop(std::int64_t now_ns);
  Record* pop_specific(const model::Pod& pod, std::int64_t now_ns);
  /// The waiting members of the record's group that no gate holds, wherever they wait; in flight from here on.
  std::vector<Record*> pop_group(const Record& first, std::int64_t now_ns);
  /// In the order in which they would have been popped.
  void sort(std::vector<Record*>& records);
  bool requeue(Record& record, const Rejectors& rejectors, model::PodPtr fresh, std::int64_t now_ns);
  /// The place where a pod of this name is queued already, or nowhere.
  Place queued_place(const model::Pod& pod) const;
  void close_log(Record& record);
  void done(Record& record, std::int64_t now_ns);
  /// Ends all markers, for good.
  void close_logs();

  Nominator& nominator() noexcept { return nominator_; }
  std::vector<model::NominatedPod> nominations() const { return nominator_.list(queued_); }

  bool flush(std::int64_t now_ns);
  /// True when flush(now) may have something to do. Cheap.
  bool flush_due(std::int64_t now_ns);
  std::optional<std::int64_t> next_backoff_ns();
  /// When leftovers are looked for next; nothing while no pod waits for an event. Cost: none, unlike next_leftover_ns().
  std::optional<std::int64_t> next_scan_ns() const noexcept;
  /// When a scan will move something. Cost: one look at every waiting pod.
  std::optional<std::int64_t> next_leftover_ns() const;

  // Constant, so that they need no lock.
  std::int64_t leftover_limit_ns() const noexcept { return options_.leftover_age_ns + options_.leftover_period_ns; }
  bool wants_nameless_changes() const noexcept { return rules_->wants_nameless_changes(); }
  std::vector<WakingEvent> waking_events(std::string_view scheduler_name, const model::PluginSet& rejectors) const {
    return rules_->waking_events(hints_.profile_of(scheduler_name), rejectors);
  }

 private:
  friend class QueueReport;
  // Moves. All leave the record where they say, or in the pool when a gate closes.
  bool move_to_active(Record& record, LabelId label, bool from_backoff, std::int64_t now_ns);
  bool move_to_backoff(Record& record, LabelId label);
  bool move_as(Record& record, Requeue how, LabelId label, std::int64_t now_ns);
  bool move_candidates(const model::ClusterEvent& event, const model::EventObjects& objects, LabelId label,
                       std::int64_t now_ns);
  void put_into_pool(Record& record, LabelId label);
  void log_move(const Record& record, LabelId label, std::string_view queue);
  /// Takes the record out of its heap or the pool.
  void detach(Record& record);
  void forget(Record& record);
  /// Makes the record the one queued under its name; a former one is forgotten.
  void index(Record& record);
  bool replace_ready(Record& record, const model::PodPtr& old_pod, const model::PodPtr& new_pod, std::int64_t now_ns);
  bool flush_backoff(std::int64_t now_ns);
  bool flush_leftovers(std::int64_t now_ns);
  bool activate_one(const model::PodPtr& pod, std::int64_t now_ns);
  Record* next(std::int64_t now_ns);

  std::vector<const Record*> records_by_arrival(const std::function<bool(const Record&)>& wanted) const;
  Record& make_record(model::PodPtr pod, std::int64_t now_ns);
  void set_pod(Record& record, model::PodPtr pod);
  /// A pod whose group cannot be told stays behind that gate; else the plugins have their say.
  void ask_gates(Record& record);
  void take_off(Record& record);
  Requeue after_missed_events(Record& record);
  void log_event(const model::ClusterEvent& event, const model::EventObjects& objects, LabelId label);
  LabelId label_of(const model::ClusterEvent& event);
  OrderKey key_of(const Record& record);
  std::int64_t& rejected_pods(const Record& record, model::PluginIndex plugin);
  void count_rejectors(const Record& record, std::int64_t change);

  // Constant after construction.
  const QueueOptions options_;
  const HintTable hints_;
  const PodLookup lookup_;
  QueuePolicy& policy_;

  RecordTable records_;
  RecordIndex<ByName> queued_;
  GroupIndex groups_;
  ReadyHeap<false> active_;
  ReadyHeap<false> giving_way_;  // active as well, and tried when no other pod is ready
  ReadyHeap<true> backoff_;
  ReadyHeap<true> error_backoff_;
  WaitingPool pool_;
  InFlightLog log_;
  LongAttempts long_attempts_;
  Nominator nominator_;
  const std::unique_ptr<RequeueRules> rules_;

  std::uint64_t next_arrival_ = 0;
  std::int64_t next_leftover_scan_ns_;
  IncomingCounts incoming_;
  std::vector<std::int64_t> rejected_pods_;  // by profile, then plugin
  std::uint64_t pops_ = 0;
  std::vector<Record*> candidates_;  // scratch of one move
  std::vector<Requeue> requeues_;
};

}  // namespace berth::queue
