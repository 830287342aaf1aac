// SPDX-License-Identifier: Apache-2.0
#include "binding/binding_cycle.hpp"

#include <utility>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"
#include "observe/breadcrumb.hpp"
#include "observe/log.hpp"

namespace berth::binding {

using framework::Code;
using framework::Verdict;

namespace {

/// What a thread does in plugins for one pod. Copies the names: the pod's cycle may end while a call is on the stack.
struct InPlugins {
  InPlugins(framework::OpenCalls* watch, const model::PodPtr& pod)
      : breadcrumb(pod->ns, pod->name), scope(watch, pod) {}
  const observe::PodBreadcrumb breadcrumb;
  const framework::OpenCalls::Scope scope;
};

/// A verdict of a binding plugin as the attempt's end: rejections stay, everything else is an error with a prefix.
std::string wrapped(std::string_view point, std::string_view plugin, const Verdict& verdict) {
  return fmt::format("running {} plugin \"{}\": {}", point, plugin, verdict.message());
}

}  // namespace

BindingCycle::BindingCycle(Binder& binder, queue::Ticket ticket, cycle::Placement placement, PlacedAttempt attempt)
    : binder_(binder),
      parts_(binder.parts_),
      pod_(placement.assumption.pod()),
      node_name_(placement.assumption.node_name()),
      profile_(placement.reservation.context().profile()),
      parked_(!placement.waits.empty()),
      attempt_(std::move(attempt)),
      ticket_(std::move(ticket)),
      placement_(std::move(placement)) {}

cluster::PlacedNode BindingCycle::node() const {
  return {std::string(parts_.symbols.text(node_name_)), placement_.node ? placement_.node->uid : std::string()};
}

framework::BindTarget BindingCycle::target() const {
  return {std::string(parts_.symbols.text(node_name_)), parts_.lookups, cancelled_};
}

template <typename Step>
void BindingCycle::next(Step step) {
  parts_.executor.post([self = shared_from_this(), step] { ((*self).*step)(); });
}

void BindingCycle::start() {
  count_as_in_flight(!parked_);
  is_settling_ = attempt_.barrier != nullptr && !parked_;
  if (is_settling_) binder_.settles();
  if (parked_) parts_.waiting.park(pod_, node_name_, placement_.waits);
  next(&BindingCycle::run_checks);
}

void BindingCycle::count_as_in_flight(bool in_flight) {
  if (std::exchange(is_in_flight_, in_flight) == in_flight) return;
  if (in_flight)
    binder_.took_off();
  else
    binder_.landed();
}

void BindingCycle::settle() {
  if (std::exchange(is_settling_, false)) binder_.settled();
}

void BindingCycle::end_point(AsyncPoint point, Code code) {
  parts_.attempts.point_ended(profile_, point, code, step_ns());
}

// 1. Who will act before the pod is bound?

void BindingCycle::run_checks() {
  begin_step();
  const std::size_t count = profile_.pre_bind.size();
  checks_.resize(count);
  has_pre_bind_ = !binder_.options_.nominates_before_slow_bindings;
  for (std::size_t i = 0; i < count && binder_.options_.nominates_before_slow_bindings; ++i) {
    {
      const InPlugins in_plugins(parts_.watch, pod_);
      checks_[i] = framework::run_pre_bind_check(placement_.reservation.context(), *profile_.pre_bind[i],
                                                 placement_.reservation.slot());
    }
    const Verdict& verdict = checks_[i].verdict;
    if (verdict.code == Code::success) {
      has_pre_bind_ = true;
    } else if (verdict.code == Code::error) {
      end_point(AsyncPoint::pre_bind_check, Code::error);
      return fail(
          {Code::error, fmt::format("running PreBindPreFlight \"{}\": {}", pre_binder(i), verdict.message()), {}});
    } else if (verdict.code != Code::skip) {
      end_point(AsyncPoint::pre_bind_check, Code::error);
      return fail(
          {Code::error,
           fmt::format("PreBindPreFlight {} returned \"{}\", which is unsupported. It is supposed to return Success, "
                       "Skip, or Error status",
                       pre_binder(i), framework::code_name(verdict.code)),
           {}});
    }
  }
  end_point(AsyncPoint::pre_bind_check, has_pre_bind_ ? Code::success : Code::skip);
  announce();
  wait_for_permit();
}

void BindingCycle::announce() {
  if (!binder_.options_.nominates_before_slow_bindings || !(has_pre_bind_ || parked_)) return;
  if (pod_->nominated_node == node_name_) return;
  announced_ = true;
  cluster::PodStatusPatch patch;
  patch.nominated_node = std::string(parts_.symbols.text(node_name_));
  parts_.writer.patch_pod_status(cluster::PodRef::of(*pod_), patch, [pod = pod_](const Status& status) {
    if (!status.ok() && !cluster::is_stopped(status))
      observe::error("Failed to update the nominated node name in the binding cycle",
                     {{"err", status.error().message}, {"pod", *pod}});
  });
}

// 2. Permit.

void BindingCycle::wait_for_permit() {
  if (!parked_) return permit_decided({});
  observe::V(4).info("Pod waiting on permit", {{"pod", *pod_}});
  step_ = BindStep::permit_wait;
  begin_step();
  parts_.waiting.when_decided(pod_->uid.text(), [self = shared_from_this()](PermitDecision decision) {
    // Decided on a plugin's or a timer's thread: go on elsewhere.
    self->parts_.executor.post([self, decision = std::move(decision)] { self->permit_decided(decision); });
  });
}

void BindingCycle::permit_decided(const PermitDecision& decision) {
  if (parked_)
    parts_.attempts.permit_waited(decision.kind == PermitDecision::Kind::allowed    ? Code::success
                                  : decision.kind == PermitDecision::Kind::rejected ? Code::unschedulable
                                                                                    : Code::error,
                                  step_ns());
  switch (decision.kind) {
    case PermitDecision::Kind::allowed:
      break;
    case PermitDecision::Kind::rejected:
      observe::V(4).info("Pod rejected while waiting on permit", {{"pod", *pod_}, {"status", decision.message}});
      return fail(refused(decision.plugin, decision.message));
    case PermitDecision::Kind::preempted:
      return fail({Code::error, "waiting on permit for pod: " + decision.message, {}});
  }
  parts_.queue.close_log(ticket_);  // what fails from here on fails for reasons no missed event can cure
  step_ = BindStep::pre_bind;
  begin_step();
  group_pre_binds();
  if (!groups_.empty()) {
    count_as_in_flight(false);
    settle();
  }
  run_pre_bind_group();
}

BindingCycle::Failed BindingCycle::refused(model::PluginIndex plugin, const std::string& message) const {
  Failed failed;
  failed.code = Code::unschedulable;
  failed.message = one_node_message({Code::unschedulable, plugin, {message}});
  failed.rejectors.unschedulable.insert(plugin);
  return failed;
}

// 3. Pre-bind: parallel-marked neighbours together, the others one at a time.

void BindingCycle::group_pre_binds() {
  std::vector<std::size_t> neighbours;
  const auto close_group = [&] {
    if (!neighbours.empty()) groups_.push_back(std::move(neighbours));
    neighbours.clear();
  };
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const bool acts = checks_[i].verdict.code != Code::skip;
    if (checks_[i].parallel) {
      if (acts) neighbours.push_back(i);
      continue;
    }
    close_group();
    if (acts) groups_.push_back({i});
  }
  close_group();
}

void BindingCycle::run_pre_bind_group() {
  if (group_ == groups_.size()) return end_pre_bind_group();
  const std::vector<std::size_t>& group = groups_[group_];
  {
    const Lock lock(mutex_);
    group_left_ = group.size();
  }
  for (const std::size_t plugin : group) {
    auto run = [self = shared_from_this(), plugin] {
      if (!self->begins_pre_bind()) return;
      const InPlugins in_plugins(self->parts_.watch, self->pod_);
      framework::run_pre_bind(self->placement_.reservation.context(), *self->profile_.pre_bind[plugin], self->target(),
                              [self, plugin](Verdict verdict) { self->pre_bind_done(plugin, std::move(verdict)); });
    };
    if (group.size() == 1)
      run();
    else
      parts_.executor.post(std::move(run));
  }
}

bool BindingCycle::begins_pre_bind() {
  bool last = false;
  {
    const Lock lock(mutex_);
    if (!group_failed_ && !was_cancelled_) return true;
    last = --group_left_ == 0;
  }
  if (last) next(&BindingCycle::end_pre_bind_group);
  return false;
}

void BindingCycle::pre_bind_done(std::size_t plugin, Verdict verdict) {
  bool last = false;
  {
    const Lock lock(mutex_);
    if (!verdict.success() && !group_failed_) {
      group_failed_ = true;
      if (framework::rejects(verdict.code))
        group_failure_ = {verdict.code, verdict.message(), {}};
      else
        group_failure_ = {Code::error, wrapped("PreBind", pre_binder(plugin), verdict), {}};
      cancelled_->store(true, std::memory_order_release);
    }
    last = --group_left_ == 0;
  }
  if (last) next(&BindingCycle::end_pre_bind_group);  // without the lock: an inline executor goes on at once
}

void BindingCycle::end_pre_bind_group() {
  bool failed = false;
  Failed failure;
  {
    const Lock lock(mutex_);
    if (was_cancelled_) {
      failed = true;
      failure.message = cause_;
    } else if (group_failed_) {
      failed = true;
      failure = group_failure_;
    } else if (group_ + 1 >= groups_.size()) {
      past_pre_bind_ = true;  // from here on it cannot be cancelled
    }
  }
  if (failed) {
    end_point(AsyncPoint::pre_bind, failure.code);
    return fail(std::move(failure));
  }
  if (++group_ < groups_.size()) return run_pre_bind_group();
  end_point(AsyncPoint::pre_bind, Code::success);
  pass_barrier();
}

bool BindingCycle::cancel(const std::string& cause) {
  const Lock lock(mutex_);
  if (past_pre_bind_ || was_cancelled_ || step_ != BindStep::pre_bind) return false;
  was_cancelled_ = true;
  cause_ = cause;
  cancelled_->store(true, std::memory_order_release);
  return true;
}

// 4. The others of the group.

void BindingCycle::pass_barrier() {
  if (attempt_.barrier == nullptr) return run_bind();
  step_ = BindStep::group_wait;
  if (cancelled_->load(std::memory_order_acquire)) return fail({Code::error, "berth is shutting down", {}});
  // Those that it lets go count from here on, before the next decision looks.
  switch (attempt_.barrier->arrive(pod_, node_name_, [this](std::size_t others) { binder_.took_off(others); })) {
    case GroupBarrier::Pass::go:
      return run_bind();
    case GroupBarrier::Pass::released:
      return fail(refused(attempt_.barrier->plugin(), attempt_.barrier->message()));
    case GroupBarrier::Pass::parked:
      break;
  }
  count_as_in_flight(false);
  settle();
  parts_.waiting.when_decided(pod_->uid.text(), [self = shared_from_this()](PermitDecision decision) {
    self->parts_.executor.post([self, decision = std::move(decision)] { self->barrier_decided(decision); });
  });
}

void BindingCycle::barrier_decided(const PermitDecision& decision) {
  if (decision.kind == PermitDecision::Kind::allowed) {
    is_in_flight_ = true;  // counted by the member that let it go
    return run_bind();
  }
  attempt_.barrier->left(pod_->uid.text());
  if (decision.kind == PermitDecision::Kind::preempted)
    return fail({Code::error, "waiting on permit for pod: " + decision.message, {}});
  // What ends the wait of one ends it for all; a pod that went away goes alone.
  if (decision.plugin == attempt_.barrier->plugin()) attempt_.barrier->release(decision.message);
  fail(refused(decision.plugin, decision.message));
}

// 5. Bind.

void BindingCycle::run_bind() {
  step_ = BindStep::bind;
  count_as_in_flight(true);
  settle();
  begin_step();
  call_binder();
}

bool BindingCycle::passes_gate() {
  if (parts_.gate == nullptr) return true;
  const Status admitted = parts_.gate->admit(node());
  if (admitted.ok()) return true;
  if (admitted.error().code != ErrorCode::nodes_unknown) {
    fail({Code::error, admitted.error().message, {}});
    return false;
  }
  if (gate_until_ns_ == 0) gate_until_ns_ = parts_.gate->wait_end_ns();
  parts_.gate->when_in_step(gate_until_ns_, [self = shared_from_this()](Status in_step) {
    self->parts_.executor.post([self, in_step = std::move(in_step)] {
      if (in_step.ok())
        self->call_binder();
      else
        self->fail({Code::error, in_step.error().message, {}});
    });
  });
  return false;
}

void BindingCycle::call_binder() {
  const std::size_t extenders = binder_.extenders_.count();
  if (bind_ == extenders + profile_.bind.size()) {  // none took the pod
    end_point(AsyncPoint::bind, Code::skip);
    return fail({Code::skip, "", {}});
  }
  if (!passes_gate()) return;
  const framework::PluginInstance* const plugin = bind_ < extenders ? nullptr : profile_.bind[bind_ - extenders];
  if (const observe::V v(3); v)
    v.info("Attempting to bind pod to node",
           {{"pod", *pod_},
            {"node", parts_.symbols.text(node_name_)},
            {"plugin", plugin != nullptr ? std::string_view(plugin->name()) : binder_.extenders_.name(bind_)}});
  framework::BindDone done = [self = shared_from_this()](Verdict verdict) {
    self->parts_.executor.post([self, verdict = std::move(verdict)]() mutable { self->bind_done(std::move(verdict)); });
  };
  if (plugin == nullptr)
    return binder_.extenders_.bind(bind_, pod_, std::string(parts_.symbols.text(node_name_)), std::move(done));
  const InPlugins in_plugins(parts_.watch, pod_);
  framework::run_bind(placement_.reservation.context(), *plugin, target(), std::move(done));
}

void BindingCycle::bind_done(Verdict verdict) {
  if (verdict.code == Code::skip) {
    ++bind_;
    return call_binder();
  }
  count_as_in_flight(false);
  end_point(AsyncPoint::bind, verdict.code);
  if (verdict.success()) return succeed();
  if (framework::rejects(verdict.code)) return fail({verdict.code, verdict.message(), {}});
  const std::size_t extenders = binder_.extenders_.count();
  fail({Code::error,
        bind_ < extenders ? verdict.message() : wrapped("Bind", profile_.bind[bind_ - extenders]->name(), verdict),
        {}});
}

void BindingCycle::succeed() {
  step_ = BindStep::post_bind;
  if (parts_.gate != nullptr) parts_.gate->ended(pod_->uid);
  const queue::Ticket& ticket = ticket_;
  const std::int64_t now_ns = parts_.queue.now_ns();
  parts_.attempts.attempt_ended({profile(), AttemptResult::scheduled, ticket.attempts(),
                                 now_ns - ticket.first_attempt_ns(), now_ns - attempt_.began_ns, ticket.after_flush()});
  if (parts_.keep_bound)
    parts_.keep_bound(std::move(placement_.assumption));
  else
    placement_.assumption.confirm();
  parts_.queue.done(std::move(ticket_));
  if (const observe::V v(2); v)
    v.info("Successfully bound pod to node", {{"pod", *pod_},
                                              {"node", parts_.symbols.text(node_name_)},
                                              {"evaluatedNodes", placement_.evaluated_nodes},
                                              {"feasibleNodes", placement_.feasible_nodes}});
  cluster::EventRecord event;
  event.regarding = cluster::PodRef::of(*pod_);
  event.reason = "Scheduled";
  event.action = "Binding";
  event.note = fmt::format("Successfully assigned {}/{} to {}", pod_->ns, pod_->name, parts_.symbols.text(node_name_));
  event.controller = profile();
  parts_.writer.record_event(event, [](const Status&) {});
  {
    const InPlugins in_plugins(parts_.watch, pod_);
    framework::run_post_bind(placement_.reservation.context(), std::string(parts_.symbols.text(node_name_)));
  }
  placement_.reservation.confirm();
  step_ = BindStep::ended;
  binder_.ended(*this, true);
}

// 6. The way back.

void BindingCycle::fail(Failed failed) {
  count_as_in_flight(false);
  settle();
  // Before the queue has the pod: it may be placed again at once.
  if (parts_.gate != nullptr) parts_.gate->ended(pod_->uid);
  {
    const InPlugins in_plugins(parts_.watch, pod_);
    placement_.reservation.cancel();
  }
  placement_.assumption.forget();
  // The freed room may help other pods. This pod is to hear of it after an error, but not after a rejection: its own
  // leaving is no reason to try again what was just refused.
  const bool rejected = framework::rejects(failed.code);
  if (!rejected) move_waiting_pods({});
  Failure failure;
  failure.code = failed.code;
  failure.message = std::move(failed.message);
  failure.rejectors = failed.rejectors;
  failure.began_ns = attempt_.began_ns;
  failure.announced = announced_;
  parts_.failures.handle(std::move(ticket_), failure, profile());
  if (rejected) move_waiting_pods([uid = pod_->uid](const model::Pod& waiting) { return waiting.uid != uid; });
  step_ = BindStep::ended;
  binder_.ended(*this, false);
}

void BindingCycle::move_waiting_pods(const queue::PreCheck& pre_check) {
  auto assumed = std::make_shared<model::Pod>(*pod_);
  assumed->node_name = node_name_;
  model::EventObjects objects;
  objects.old_pod = std::move(assumed);
  parts_.queue.move_all({model::EventResource::assigned_pod, model::actions::remove, {}}, objects, pre_check);
}

}  // namespace berth::binding
