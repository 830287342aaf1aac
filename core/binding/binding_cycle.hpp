// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "binding/binder.hpp"
#include "framework/profile_runtime.hpp"

/// Private to core/binding.
namespace berth::binding {

/// One placed pod on its way to its node: a chain of steps, each of which ends by posting the next one.
///
/// Lifetime: kept alive by the step that is posted or the call that is open; gone after the last.
/// Threads:  one step at a time, on the executor's threads; cancel() and the members under "any thread" from anywhere.
class BindingCycle : public std::enable_shared_from_this<BindingCycle> {
 public:
  BindingCycle(Binder& binder, queue::Ticket ticket, cycle::Placement placement, PlacedAttempt attempt);

  /// Requires: once, from the scheduling loop.
  void start();

  // Any thread.
  /// Ends the attempt as by an error with this text, unless pre-bind is over. Returns whether it will.
  bool cancel(const std::string& cause);
  /// Tells open calls that they will not be waited for much longer.
  void cancel_wait() noexcept { cancelled_->store(true, std::memory_order_release); }
  OpenBinding report() const { return {pod_, node_name_, step_.load(std::memory_order_relaxed)}; }
  const model::PodPtr& pod() const noexcept { return pod_; }
  /// Where the pod goes; no uid: any node of that name will do.
  cluster::PlacedNode node() const;

 private:
  struct Failed {
    framework::Code code = framework::Code::error;
    std::string message;
    queue::Rejectors rejectors;
  };

  void run_checks();
  void announce();
  void wait_for_permit();
  void permit_decided(const PermitDecision& decision);
  void group_pre_binds();
  void run_pre_bind_group();
  /// False when a neighbour failed, or the attempt was called off, before this call began.
  bool begins_pre_bind();
  void pre_bind_done(std::size_t plugin, framework::Verdict verdict);
  void end_pre_bind_group();
  Failed refused(model::PluginIndex plugin, const std::string& message) const;
  void pass_barrier();
  void barrier_decided(const PermitDecision& decision);
  void run_bind();
  void call_binder();
  /// False when the gate has not let it pass: it waits there, or has failed.
  bool passes_gate();
  /// Whether it counts as in flight: nothing but threads, the gate and the API server keeps it from its end.
  void count_as_in_flight(bool in_flight);
  /// A member of a group is where it counts, or where it may wait for long.
  void settle();
  void bind_done(framework::Verdict verdict);
  void begin_step() { step_began_ns_ = parts_.queue.now_ns(); }
  std::int64_t step_ns() const { return parts_.queue.now_ns() - step_began_ns_; }
  void end_point(AsyncPoint point, framework::Code code);
  void succeed();
  void fail(Failed failed);

  /// Posts a member function as the next step.
  template <typename Step>
  void next(Step step);
  std::string_view profile() const noexcept { return profile_.scheduler_name; }
  const std::string& pre_binder(std::size_t i) const noexcept { return profile_.pre_bind[i]->name(); }
  framework::BindTarget target() const;
  void move_waiting_pods(const queue::PreCheck& pre_check);

  Binder& binder_;
  const BinderParts& parts_;
  const model::PodPtr pod_;
  const Symbol node_name_;
  const framework::ProfileRuntime& profile_;
  const bool parked_;
  const PlacedAttempt attempt_;
  queue::Ticket ticket_;
  cycle::Placement placement_;
  std::atomic<BindStep> step_{BindStep::checks};

  std::vector<framework::PreBindCheck> checks_;   // by pre-bind position
  std::vector<std::vector<std::size_t>> groups_;  // of pre-bind positions, in order
  bool has_pre_bind_ = false;                     // some plugin will act before the pod is bound
  bool announced_ = false;                        // the cluster is told the node
  std::size_t group_ = 0;
  std::size_t bind_ = 0;            // of the extenders that bind, then of the bind plugins
  std::int64_t step_began_ns_ = 0;  // queue time
  std::int64_t gate_until_ns_ = 0;  // until when it may wait there; 0: it has not waited
  bool is_in_flight_ = false;
  bool is_settling_ = false;

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Mutex mutex_;  // the group's calls may end at the same time, and cancel() comes from outside
  std::size_t group_left_ GUARDED_BY(mutex_) = 0;
  bool group_failed_ GUARDED_BY(mutex_) = false;
  Failed group_failure_ GUARDED_BY(mutex_);
  bool past_pre_bind_ GUARDED_BY(mutex_) = false;
  bool was_cancelled_ GUARDED_BY(mutex_) = false;
  std::string cause_ GUARDED_BY(mutex_);
};

}  // namespace berth::binding
