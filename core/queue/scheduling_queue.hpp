// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "model/event.hpp"
#include "model/plugin_set.hpp"
#include "model/pod.hpp"
#include "queue/hint_table.hpp"
#include "queue/nomination.hpp"
#include "queue/queue_policy.hpp"
#include "queue/queue_view.hpp"
#include "queue/ticket.hpp"

namespace berth::queue {

struct QueueOptions {
  std::int64_t backoff_initial_ns = 1'000'000'000;
  std::int64_t backoff_max_ns = 10'000'000'000;      // 0: pods never back off
  std::int64_t leftover_age_ns = 300'000'000'000;    // a pod that waited longer for an event is tried without one
  std::int64_t leftover_period_ns = 30'000'000'000;  // how often that is looked at
  bool pops_from_backoff = true;                     // an idle scheduler does not wait for back-offs of rejected pods
  bool as_v1_16 = false;                             // any event retries all pods; without pops_from_backoff only
};

/// The plugins that rejected a pod. One that answered "pending" stands in both sets.
struct Rejectors {
  model::PluginSet unschedulable, pending;
};

/// The pod as the cluster has it now (by namespace and name), or null. Called under the queue's lock.
using PodLookup = std::function<model::PodPtr(const model::Pod& pod)>;
/// Picks the waiting pods an event is meant for. Called under the queue's lock.
using PreCheck = std::function<bool(const model::Pod& waiting)>;

class QueueCore;

/// Pods that wait to be scheduled: ready, backing off, or until an event may help.
///
/// Place:    fed by ingest, popped by the cycle's loop, given back by binding.
/// Lifetime: clock and policy must outlive it;
///           tickets must not.
/// Threads:  synchronises itself with one lock.
///           Order of locks: the queue's lock comes before any lock that policy, hints or PodLookup take (caches,
///           stores); so the queue may not be called by a holder of such a lock, and policy, hints and PodLookup never
///           call the queue.
/// Time:     "queue time" is the wall clock at construction plus monotonic time since, in nanoseconds;
///           back-offs end on whole seconds of it.
/// Failure:  none but requeue() of a pod that is queued already.
/// Source:   kubernetes v1.36 pkg/scheduler/backend/queue.
///           Departs: one lock instead of four; hints are asked in batches; full ties are popped in order of arrival;
///           the in-flight log is bounded (a pod that misses events by that is retried after its back-off); a popped
///           pod is an object that cannot be lost.
class SchedulingQueue final : public QueueView, public Nominations {
 public:
  SchedulingQueue(QueueOptions options, HintTable hints, QueuePolicy& policy, PodLookup lookup, const Clock& clock);
  ~SchedulingQueue() override;
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  /// A pending pod appeared. A record of the same namespace and name is replaced.
  void add(model::PodPtr pod);
  /// A pending pod changed. `events` are the changes by name, in order (model::diff of old and new); a pod the queue
  /// does not know is added.
  void update(const model::PodPtr& old_pod, const model::PodPtr& new_pod, std::span<const model::ClusterEvent> events);
  /// A pending pod went away or was bound. In flight it stays with its ticket.
  void remove(const model::Pod& pod);
  /// Something happened: retries the waiting pods that the hints name, and logs it for pods in flight.
  void move_all(const model::ClusterEvent& event, const model::EventObjects& objects, const PreCheck& pre_check = {});
  /// False: move_all() need not be told of changes of a node that have no name ({node, 0}). Constant; takes no lock.
  bool wants_nameless_changes() const noexcept UNCHECKED_LOCKS;  // constant
  /// Retries these pods now, whatever their back-off. Unknown pods are ignored.
  void activate(std::span<const model::PodPtr> pods);
  /// The same by uid, and for all pods of a class. Cost: one look at every waiting pod.
  void activate_uids(std::span<const std::string> uids);
  void activate_class(std::uint64_t pod_class);

  /// The next pod, or nothing when none may be tried now. Never blocks, does not flush.
  std::optional<Ticket> pop();
  /// Waits for the next pod and flushes when due; nothing once closed and empty. For live use: waits in real time.
  std::optional<Ticket> wait_pop(const std::function<void()>& before_wait = {});
  /// The pod of `first` with all members of its group that wait and that no gate holds, whatever their back-off; in the
  /// order of the queue.
  std::vector<Ticket> pop_group(Ticket first);

  /// The attempt failed: the pod waits for its back-off or for an event that helps `rejectors`. `fresh` is the pod as
  /// the cluster has it now, or null for the newest the queue has seen. Fails, and lets the ticket go, when the pod is
  /// queued. Requires: fresh has the ticket's uid.
  Status requeue(Ticket ticket, const Rejectors& rejectors, model::PodPtr fresh);
  /// The attempt passed the point after which missed events no longer matter; the ticket lives on.
  /// This and done() do not wait: while another thread changes the queue, which may take as long as a hint does, the
  /// call is recorded, and applied before the next change.
  void close_log(Ticket& ticket);
  /// The pod needs no more attempts.
  void done(Ticket ticket);

  /// Nominates a pod to a node (or withdraws that); ignored when PodLookup says that the pod is gone or bound.
  /// Returns the node that the pod was nominated before; k_no_symbol: none.
  Symbol nominate(const model::PodPtr& pod, const model::Nomination& nomination);
  void remove_nomination(const model::Pod& pod) override;
  bool has_nominations() const noexcept override { return nominated_count_.load(std::memory_order_acquire) != 0; }
  std::vector<model::NominatedPod> nominations() const override;

  /// Moves what has waited long enough: completed back-offs, and leftovers when their scan is due.
  void flush();
  /// When flush() would next move something by back-off or leftover scan, in Clock::monotonic_ns() time; nothing when
  /// only an event can move a pod. For simulations: advance the clock to it and flush.
  std::optional<std::int64_t> next_backoff_ns() const;
  std::optional<std::int64_t> next_leftover_ns() const;
  std::optional<std::int64_t> next_wakeup_ns() const;
  /// Queue time now.
  std::int64_t now_ns() const noexcept;
  /// A moment of queue time, by the clock.
  std::int64_t monotonic_ns(std::int64_t queue_ns) const noexcept { return queue_ns - wall_offset_ns_; }

  /// Wakes wait_pop for good; what is ready is still handed out.
  void close();

  std::vector<PendingPod> pending_pods() const override;
  /// While a hint keeps the queue busy, this and counts() return their last result.
  QueueSizes sizes() const override;
  QueueCounts counts() const override;
  std::int64_t leftover_limit_ns() const noexcept override UNCHECKED_LOCKS;  // constant
  std::vector<WakingEvent> waking_events(std::string_view scheduler_name,
                                         const model::PluginSet& rejectors) const override UNCHECKED_LOCKS;  // constant

 private:
  friend class Ticket;
  void abandon(Record& record) noexcept;
  template <typename Change>
  void change(Change&& body);
  enum class Deferred : std::uint8_t { close_log, done };
  void defer(Record& record, Deferred call);
  /// The result of `read`, or the last one while a hint does not return: reports must not hang with it.
  template <typename T, typename Read>
  T read_in_time(T* last, Read&& read) const;
  /// Comes first wherever the lock is taken.
  void apply_deferred() const REQUIRES(mutex_);

  // Constant after construction.
  const Clock& clock_;
  const std::int64_t wall_offset_ns_;

  // Synchronise themselves.
  ConditionVariable ready_;
  std::atomic<std::size_t> nominated_count_{0};

  // Order: mutex_ before deferred_mutex_.
  mutable Mutex deferred_mutex_;  // a leaf
  mutable std::vector<std::pair<Record*, Deferred>> deferred_
      GUARDED_BY(deferred_mutex_) = {};  // in order; at most two per ticket
  mutable Mutex last_mutex_;             // a leaf
  mutable ConditionVariable freed_;      // after a change
  mutable QueueSizes last_sizes_ GUARDED_BY(last_mutex_);
  mutable QueueCounts last_counts_ GUARDED_BY(last_mutex_);

  mutable Mutex mutex_;
  const std::unique_ptr<QueueCore> core_ PT_GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::queue
