// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/guarded.hpp"
#include "base/symbols.hpp"
#include "binding/attempt_observer.hpp"
#include "binding/binding_view.hpp"
#include "binding/executor.hpp"
#include "binding/extender_binder.hpp"
#include "binding/failure_handler.hpp"
#include "binding/group_barrier.hpp"
#include "binding/waiting_pods.hpp"
#include "cluster/binding_gate.hpp"
#include "cluster/cluster_writer.hpp"
#include "cycle/placement.hpp"
#include "framework/open_calls.hpp"
#include "framework/points/bind.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::binding {

/// The attempt that placed a pod.
struct PlacedAttempt {
  std::int64_t began_ns = 0;                   // its cycle, in queue time
  std::shared_ptr<GroupBarrier> barrier = {};  // to be bound together with others; null: alone
};

struct BinderOptions {
  /// Writes status.nominatedNodeName before a binding that may take long, so that others see where the pod will go.
  bool nominates_before_slow_bindings = true;
  /// How many placed pods may be on their way to the API server before the scheduling loop waits; 0: any number. Pods
  /// that wait at permit, for their group or in a pre-bind plugin do not count. The next decision is made while fewer
  /// are on their way; a group is one decision, so at most in_flight_max - 1 and the members of one group are. It is not
  /// split: its members are decided at one moment, and to send some of them later makes none of them more current.
  std::size_t in_flight_max = 0;
};

/// What a binding cycle works with. All outlive every binding cycle.
struct BinderParts {
  Executor& executor;
  WaitingPods& waiting;
  FailureHandler& failures;
  queue::SchedulingQueue& queue;
  cluster::ClusterWriter& writer;
  const SymbolTable& symbols;
  AttemptObserver& attempts;
  /// Takes the assumption of a pod that is bound, to drop it when the watch does not tell of the pod in time; empty: it
  /// is kept for as long as that takes.
  std::function<void(cache::Assumption assumption)> keep_bound = {};
  /// Asked before a bind plugin or an extender is; null: nothing is withheld.
  cluster::BindingGate* gate = nullptr;
  framework::BindLookups lookups = {};
  ExtenderBindings extenders = {};
  framework::OpenCalls* watch = nullptr;  // sees calls into plugins that do not return; null: they are not watched
};

class BindingCycle;

/// Carries placed pods to their nodes: permit wait, pre-bind, bind, post-bind, and the way back when one of them fails.
///
/// Place:    the scheduling loop hands it what the cycle placed.
///           It ends the ticket and the placement.
/// Lifetime: the parts outlive it; it outlives its binding cycles: call drain() before the end, and let plugins
///           live longer.
/// Threads:  start() from the scheduling loop; the rest runs on the executor, steps of one pod one after another.
///           No thread waits for a plugin, a timer or the API server.
/// Failure:  whatever fails, the placement is given back, and FailureHandler tells queue and cluster.
///           A pod is bound at most once per placement.
/// Source:   kubernetes v1.36 pkg/scheduler/schedule_one.go (bindingCycle, handleBindingCycleError).
///           Departs: a state machine instead of a goroutine per pod.
class Binder final : public BindingView {
 public:
  Binder(BinderOptions options, const BinderParts& parts);
  ~Binder() override;
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  /// Parks the pod if permit asked for it, then binds it. Requires: permit has allowed the placement or told it to wait.
  void start(queue::Ticket ticket, cycle::Placement placement, PlacedAttempt attempt);

  /// Ends the attempt of a pod that is not past pre-bind, because a more important pod needs its room. False when it is
  /// too late or the pod is not being bound.
  bool preempt(std::string_view uid, model::PluginIndex by, const std::string& cause);

  /// Waits until fewer pods than in_flight_max are in flight, so that decisions do not run ahead of bindings: a decision
  /// is about the cluster of its moment. Once it waits, it waits until a quarter has gone. False when that took longer
  /// than `limit`, or after stop_waiting(). Members of a group that have just been placed are waited for until each of
  /// them counts or waits for something that may take long: before that, their number says nothing.
  /// Requires: called by the scheduling loop, which holds no ticket meanwhile.
  bool wait_for_room(std::chrono::milliseconds limit);
  /// Ends wait_for_room(), for good. Threads: any.
  void stop_waiting();

  /// Asks all open calls to end and waits for the bindings to finish, at most that long. True when none is open. What
  /// waits at the gate ends at once.
  bool drain(std::chrono::milliseconds limit);

  std::vector<OpenBinding> open_bindings() const override;
  BindingCounts counts() const override;

 private:
  friend class BindingCycle;
  void ended(const BindingCycle& cycle, bool bound) noexcept;
  /// How many may be in flight when the loop goes on.
  std::size_t room_mark() const noexcept { return options_.in_flight_max - (options_.in_flight_max + 3) / 4; }
  void took_off(std::size_t pods = 1) noexcept;
  void landed() noexcept;
  void settles() noexcept;
  void settled() noexcept;

  // Constant after construction.
  const BinderOptions options_;
  const BinderParts parts_;
  const ExtenderBinder extenders_;

  mutable Mutex mutex_;  // a leaf
  ConditionVariable idle_;
  std::unordered_map<const BindingCycle*, std::weak_ptr<BindingCycle>> open_ GUARDED_BY(mutex_);
  std::uint64_t bound_ GUARDED_BY(mutex_) = 0, failed_ GUARDED_BY(mutex_) = 0;
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
  std::size_t settling_ GUARDED_BY(mutex_) =
      0;  // members of groups between the decision and the first place where they count or wait
  std::uint64_t room_waits_ GUARDED_BY(mutex_) = 0;
  bool waits_no_more_ GUARDED_BY(mutex_) = false;
  ConditionVariable room_;
};

}  // namespace berth::binding
