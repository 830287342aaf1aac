// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "queue/record.hpp"
#include "queue/rules/requeue.hpp"
#include "queue/scheduling_queue.hpp"
#include "queue/waiting_pool.hpp"

/// Private to core/queue.
namespace berth::queue {

/// How long pods back off, which events retry which of them, and where a pod goes whose attempt failed. The places in
/// which pods wait, and the ways between them, are QueueCore's and the same under all rules.
///
/// Lifetime: options and hints outlive it. Threads: under the queue's lock. Times are queue time.
class RequeueRules {
 public:
  virtual ~RequeueRules() = default;

  /// A pod was popped.
  virtual void popped() = 0;
  /// A pod went away for good.
  virtual void forgotten(const model::Pod& pod) = 0;
  /// An attempt failed at record.enqueued_ns: sets record.backoff_until_ns, 0 for none.
  virtual void failed(Record& record) = 0;
  /// True while a retry has to wait.
  virtual bool backing_off(const Record& record, std::int64_t now_ns) const noexcept = 0;
  /// When the pod leaves its back-off.
  virtual std::int64_t leaves_backoff_ns(const Record& record) const noexcept = 0;

  /// Takes an event in. False when it concerns no pod, waiting or in flight. Else the waiting pods it may concern,
  /// gated ones included, are appended to `out`.
  virtual bool hear(const model::ClusterEvent& event, const model::EventObjects& objects, const PreCheck& pre_check,
                    const WaitingPool& pool, std::vector<Record*>& out) = 0;
  /// requeues[i] belongs to records[i]; for pods that hear() named, and those that waited too long.
  virtual void judge(const model::ClusterEvent& event, const model::EventObjects& objects,
                     std::span<Record* const> records, std::vector<Requeue>& requeues) = 0;
  /// What one event means for one pod: its own change while it waits, or what happened while it was in flight.
  virtual Requeue judge_one(const model::ClusterEvent& event, const model::EventObjects& objects, Record& record) = 0;
  /// True when a pod that changes during its back-off is tried at once.
  virtual bool change_ends_backoff() const noexcept = 0;
  /// Where a failed pod goes by what happened meanwhile; nothing: by the events that were logged.
  virtual std::optional<Requeue> after_attempt(const Record& record) const = 0;
  /// False: changes of a node that have no name, as its heartbeats, mean nothing, and the queue need not hear of them.
  /// Constant.
  virtual bool wants_nameless_changes() const noexcept = 0;
  /// As QueueView; of a profile by its number in the hints, or HintTable::k_no_profile. Constant.
  virtual std::vector<WakingEvent> waking_events(std::uint16_t profile, const model::PluginSet& rejectors) const = 0;
};

/// Those of kube-scheduler v1.36: back-off by attempts, hints per plugin.
std::unique_ptr<RequeueRules> make_rules_of_today(const QueueOptions& options, const HintTable& hints);
/// Those of v1.16: back-off by name, any event of some kinds retries all pods. `start_ns`: when the queue began.
std::unique_ptr<RequeueRules> make_rules_of_v1_16(const QueueOptions& options, std::int64_t start_ns);

}  // namespace berth::queue
