// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <map>

#include "base/guarded.hpp"
#include "observe/log.hpp"
#include "scheduler/plugin_hints.hpp"

namespace berth::scheduler {
namespace {

constexpr std::size_t k_undeclared_inputs_max = 100;
constexpr std::int64_t k_leftover_age_of_v1_16_ns = 60'000'000'000;
// Bindings that take so long are those of a plugin that does not return, or wait for a server that is away: one pod is
// tried all the same.
constexpr std::chrono::milliseconds k_room_patience{30'000};
// Evictions that the scheduling loop waits for, with SchedulerAsyncPreemption=false.
constexpr std::chrono::milliseconds k_eviction_patience{30'000};
constexpr std::int64_t k_assumed_kept_of_v1_16_ns = 30'000'000'000;

queue::QueueOptions queue_options(const SchedulerParts& parts) {
  const config::Configuration& configuration = parts.configuration;
  queue::QueueOptions options;
  if (parts.leftover_age_ns) options.leftover_age_ns = *parts.leftover_age_ns;
  options.backoff_initial_ns = configuration.pod_initial_backoff_seconds * 1'000'000'000;
  options.backoff_max_ns = configuration.pod_max_backoff_seconds * 1'000'000'000;
  options.pops_from_backoff = configuration.features.pops_from_backoff;
  if (configuration.legacy.queue) {
    options.as_v1_16 = true;
    options.pops_from_backoff = false;
    if (!parts.leftover_age_ns) options.leftover_age_ns = k_leftover_age_of_v1_16_ns;
  }
  return options;
}

cycle::CycleOptions cycle_options(const SchedulerParts& parts) {
  const config::Configuration& configuration = parts.configuration;
  cycle::CycleOptions options;
  options.verdicts = parts.verdicts;
  options.percentage_of_nodes_to_score = configuration.percentage_of_nodes_to_score;
  options.reuse = configuration.plugins.verdict_reuse;
  const config::LegacyMode& legacy = configuration.legacy;
  options.check_all_filters = legacy.check_all_filters;
  options.score_max = legacy.max_node_score;
  if (legacy.search) {
    constexpr std::int32_t k_adaptive = 0;
    options.percentage_of_nodes_to_score = configuration.percentage_of_nodes_to_score.value_or(k_adaptive);
    options.tie_seed = legacy.seed.value_or(static_cast<std::uint64_t>(parts.clock.wall_ns()));
    observe::info("Ties between nodes are broken at random", {{"seed", std::to_string(*options.tie_seed)}});
  }
  return options;
}

HintThreadsOptions hint_options(const SchedulerParts& parts) {
  HintThreadsOptions options;
  options.patience_ns = parts.hint_patience_ns;
  options.watch = parts.watch;
  return options;
}

binding::ExtenderBindings extender_bindings(const SchedulerParts& parts, cluster::ClusterWriter& writer) {
  binding::ExtenderBindings out;
  if (parts.extenders == nullptr || parts.extender_binding == ExtenderBinding::none) return out;
  for (const auto& extender : parts.extenders->all())
    if (extender->binds()) out.binders.push_back(extender.get());
  if (parts.extender_binding == ExtenderBinding::recorded)
    out.record = [&writer](const model::Pod& pod, std::string_view node, std::function<void(Status)> done) {
      writer.bind(cluster::PodRef::of(pod), node, std::move(done));
    };
  return out;
}

}  // namespace

template <typename Made>
Result<std::unique_ptr<Made>, text::Diagnostics> Scheduler::make_as(SchedulerParts parts) {
  auto ground = std::make_unique<Ground>(std::move(parts));
  auto framework = make_framework(*ground);
  if (!framework.ok()) return framework.error();
  return std::unique_ptr<Made>(new Made(std::move(ground), std::move(*framework)));
}

Result<std::unique_ptr<Scheduler>, text::Diagnostics> Scheduler::make(SchedulerParts parts) {
  return make_as<Scheduler>(std::move(parts));
}

Result<std::unique_ptr<ManualScheduler>, text::Diagnostics> ManualScheduler::make(SchedulerParts parts) {
  return make_as<ManualScheduler>(std::move(parts));
}

Scheduler::Scheduler(std::unique_ptr<Ground> ground, std::unique_ptr<framework::Framework> framework)
    : ground_(std::move(ground)),
      framework_(std::move(framework)),
      parts_(ground_->parts),
      policy_(*framework_, {parts_.opens_gates, parts_.watch}),
      queue_(queue_options(parts_),
             make_hint_table(*framework_, ground_->hints,
                             std::make_shared<HintThreads>(parts_.clock, hint_options(parts_))),
             policy_, parts_.lookup, parts_.clock),
      watched_nominations_(ground_->recording ? ground_->recording->watched(nominations()) : nullptr),
      cycle_(*framework_, ground_->cache, ground_->snapshot,
             watched_nominations_ ? *watched_nominations_ : nominations(), cycle_options(parts_),
             {parts_.extenders, &ground_->preemption,
              [this](const cycle::UndeclaredInput& input, const model::Pod& pod) {
                deciding_.assert_held();
                report(input, pod);
              }}),
      failures_(queue_, parts_.lookup, ground_->writer, parts_.symbols, ground_->recorded, parts_.explained),
      binder_(
          {parts_.configuration.features.nominates_before_slow_bindings, parts_.bindings_in_flight_max},
          {parts_.executor, ground_->waiting, failures_, queue_, ground_->writer, parts_.symbols, ground_->recorded,
           keep_bound(), parts_.gate, ground_->bind_lookups, extender_bindings(parts_, ground_->writer), parts_.watch}),
      evictions_({parts_.executor, ground_->writer, ground_->queue, ground_->evictions,
                  [this](std::string_view uid, model::PluginIndex by, const std::string& plugin) {
                    return ground_->waiting.preempt(uid, by, "preempted") ||
                           binder_.preempt(uid, by, "preempted by " + plugin);
                  },
                  [this](const binding::EvictionOrder& order, bool failed) {
                    ground_->recorded.evictions_ended(failed, parts_.clock.monotonic_ns() - order.began_ns);
                  }}),
      queue_is_there_(ground_->queue.target(), {queue_, nominations()}) {
  ground_->cache.rest(ground_->snapshot);  // a standby does not look at it before it leads
}

Scheduler::~Scheduler() = default;

void Scheduler::end_bindings(std::chrono::milliseconds limit) {
  if (binder_.drain(limit)) return;
  framework_->host().bind_calls.give_up();
  // What was given up ends at once; so does what was answered at the last moment, which is not counted.
  binder_.drain(std::max<std::chrono::milliseconds>(limit, std::chrono::seconds(1)));
}

void Scheduler::stop_deciding() {
  if (parts_.extenders != nullptr) parts_.extenders->cancel();
  queue_.close();
  gives_plans_up_ = true;
  binder_.stop_waiting();
}

ingest::IngestParts Scheduler::intake() {
  return {ground_->cache,
          ground_->groups,
          queue_,
          ground_->waiting,
          ground_->feed,
          parts_.clock,
          [this](std::string_view name) { return framework_->find(name) != nullptr; },
          [this](const model::Pod& pod) {
            // A pod whose group cannot be told counts for none; the queue says so and holds it back.
            Result<std::string> name = framework_->group_of(pod);
            return name.ok() ? std::move(*name) : std::string();
          },
          {},
          [this](const model::ClusterEvent& event, double seconds) { ground_->handling_times.record(event, seconds); }};
}

SchedulerViews Scheduler::views() const noexcept {
  return {parts_.symbols,
          queue_,
          binder_,
          ground_->waiting,
          *framework_,
          ground_->objects,
          framework_->host().debug_pages,
          ground_->cache,
          ground_->cache.resources(),
          ground_->recorded,
          ground_->hints,
          ground_->metrics,
          ground_->counters,
          parts_.extenders};
}

DecisionParts ManualScheduler::decision_parts() noexcept {
  return {*framework_,
          queue_,
          cycle_,
          ground_->cache,
          ground_->snapshot,
          ground_->bind_lookups,
          undeclared_inputs_,
          ground_->recording.get()};
}

queue::Nominations& Scheduler::nominations() noexcept {
  if (parts_.nominations != nullptr) return *parts_.nominations;
  return queue_;
}

/// Pods that are bound, until their timers forget them. The timers outlive the cache that this is about.
class Scheduler::KeptBound {
 public:
  std::uint64_t keep(cache::Assumption assumption) {
    const Lock lock(mutex_);
    by_number_.emplace(++last_, std::move(assumption));
    return last_;
  }
  void forget(std::uint64_t number) {
    const Lock lock(mutex_);
    by_number_.erase(number);
  }

 private:
  Mutex mutex_;  // before that of the cache
  std::map<std::uint64_t, cache::Assumption> by_number_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
};

/// In the mode of v1.16 a pod that is bound and not heard of for 30 s is no longer believed to be on its node.
std::function<void(cache::Assumption)> Scheduler::keep_bound() {
  if (!parts_.configuration.legacy.queue) return {};
  kept_bound_ = std::make_shared<KeptBound>();
  return [this](cache::Assumption assumption) {
    parts_.timers.start(k_assumed_kept_of_v1_16_ns,
                        [number = kept_bound_->keep(std::move(assumption)), kept = std::weak_ptr(kept_bound_)] {
                          if (const auto there = kept.lock()) there->forget(number);
                        });
  };
}

void Scheduler::place(queue::Ticket ticket, cycle::Placement placement, Barrier barrier) {
  binder_.start(std::move(ticket), std::move(placement), {began_ns_, std::move(barrier)});
}

Status Scheduler::preempt(const model::PodPtr& pod, const cycle::Rejection& rejection) {
  binding::EvictionOrder order;
  order.preemptor = pod;
  order.began_ns = parts_.clock.monotonic_ns();
  order.profile = pod->scheduler_name;
  order.plugin = rejection.evictor;
  order.plugin_index = framework_->names().find(rejection.evictor);
  order.node = parts_.symbols.text(rejection.nomination.node);
  observe::V(2).info("the target node for the preemption is determined", {{"node", order.node}, {"pod", *pod}});
  for (const std::string& uid : rejection.victims)
    if (const auto victim = ground_->cache.find_pod(uid)) order.victims.push_back(victim->pod);
  for (const model::NominatedPod& nominated : queue_.nominations()) {
    if (nominated.node != rejection.nomination.node || nominated.pod->uid == pod->uid) continue;
    const model::PodPtr now = parts_.lookup(*nominated.pod);
    if (now && now->uid == nominated.pod->uid && now->priority < pod->priority && now->nominated_node != k_no_symbol)
      order.outranked.push_back(now);
  }
  // Those who are all on their way out already go without being asked to.
  if (std::any_of(order.victims.begin(), order.victims.end(), [](const auto& victim) { return !victim->deleting; }))
    ground_->recorded.victims_chosen(order.victims.size());
  if (rejection.preemption) {
    cluster::EventRecord event;
    event.regarding = cluster::PodRef::of(*pod);
    event.reason = "Preempting";
    event.action = "Preempting";
    event.note = binding::event_note(rejection.preemption->sentence());
    event.controller = pod->scheduler_name;
    ground_->writer.record_event(event, [](const Status&) {});
  }
  if (!parts_.configuration.features.evicts_in_background)
    return evictions_.carry_out(std::move(order), k_eviction_patience);
  evictions_.start(std::move(order));
  return Unit{};
}

void Scheduler::report(const cycle::UndeclaredInput& input, const model::Pod& pod) {
  if (undeclared_inputs_.size() < k_undeclared_inputs_max) undeclared_inputs_.push_back(input);
  const std::string sentence = input.sentence();
  observe::error(
      "A kept answer is not what a fresh look finds",
      {{"plugin", input.plugin != nullptr ? input.plugin->name() : std::string()},
       {"err", sentence},
       {"reuse", input.plugin != nullptr ? "off for this plugin" : "every decision is checked for a while"}});
  cluster::EventRecord event;
  event.warning = true;
  event.regarding = cluster::PodRef::of(pod);
  event.reason = "UndeclaredInput";
  event.action = "Scheduling";
  event.note = binding::event_note(sentence);
  event.controller = pod.scheduler_name;
  ground_->writer.record_event(event, [](const Status&) {});
}

cycle::Explanation Scheduler::explain(const model::PodPtr& pod, cycle::ExplainWith with) {
  const Lock lock(deciding_);
  cycle::Explanation explanation = cycle_.explain(pod, with);
  ground_->cache.rest(ground_->snapshot);
  return explanation;
}

cycle::Standing Scheduler::stand(const model::PodPtr& pod, cache::Slot node, const cycle::StandingWith& with) {
  const Lock lock(deciding_);
  cycle::Standing standing = cycle_.stand(pod, node, with);
  ground_->cache.rest(ground_->snapshot);
  return standing;
}

void Scheduler::try_pod(const model::PodPtr& pod, const std::function<void(const cycle::Attempt& tried)>& look) {
  const Lock lock(deciding_);
  cycle::GangAttempt alone;
  alone.member = [](const model::Pod&) { return false; };
  cycle_.begin_gang_attempt();
  cycle::Attempt tried = cycle_.reserve(pod, 0, alone);
  look(tried);
  if (tried.placement) cycle_.give_back(std::move(*tried.placement));
  ground_->cache.rest(ground_->snapshot);
}

void Scheduler::inspect(const std::function<void(const cache::Snapshot& snapshot)>& look) {
  const Lock lock(deciding_);
  ground_->cache.refresh(ground_->snapshot, cache::Look::question);
  look(ground_->snapshot);
  ground_->cache.rest(ground_->snapshot);
}

bool Scheduler::schedule_one() { return schedule_one({}); }

bool Scheduler::schedule_one(const Watch& watch) {
  apply_activations();  // evictions end when they like
  auto popped = queue_.pop();
  if (!popped) return false;
  decide(std::move(*popped), watch);
  return true;
}

bool Scheduler::schedule_next(const Watch& watch) {
  apply_activations();
  binder_.wait_for_room(k_room_patience);
  auto popped = queue_.wait_pop([this] { rest(); });
  if (!popped) return false;
  decide(std::move(*popped), watch);
  return true;
}

void Scheduler::rest() {
  // Under the lock of the queue, which comes after this one: not waited for. Its holder lets the snapshot rest at its end.
  if (!deciding_.try_lock()) return;
  const Lock lock(deciding_, std::adopt_lock);
  ground_->cache.rest(ground_->snapshot);
}

void Scheduler::decide(queue::Ticket ticket, const Watch& watch) {
  const Lock lock(deciding_);
  if (!wants_decision(ticket)) return;
  began_ns_ = queue_.now_ns();
  if (ticket.group().empty())
    decide_alone(std::move(ticket), watch);
  else
    decide_group(std::move(ticket), watch);
  apply_activations();
}

bool Scheduler::wants_decision(queue::Ticket& ticket) {
  const model::PodPtr pod = ticket.pod();
  observe::V(4).info("About to try and schedule pod", {{"pod", *pod}});
  if (framework_->find(pod->scheduler_name) == nullptr || ground_->cache.is_assumed(pod->uid)) {
    queue_.done(std::move(ticket));
    return false;
  }
  if (!pod->deleting) {
    observe::V(3).info("Attempting to schedule pod", {{"pod", *pod}});
    return true;
  }
  failures_.skip_deleting(std::move(ticket), pod->scheduler_name);
  return false;
}

void Scheduler::decide_alone(queue::Ticket ticket, const Watch& watch) {
  model::PodPtr pod = ticket.pod();
  if (watch.before) watch.before(pod);
  recording::Attempt attempt;
  attempt.rotation = cycle_.rotation();
  cycle::Outcome outcome = cycle_.run(pod, ticket.pod_class());
  ground_->recorded.choice_made(cycle_.choice_ticks(), cycle_.reuse_counts());
  if (ground_->recording)
    ground_->recording->attempt(ticket, std::move(pod), outcome, std::move(attempt), *framework_,
                                queue_.monotonic_ns(began_ns_));
  if (watch.after) watch.after(ticket.pod(), outcome);
  auto* const placement = std::get_if<cycle::Placement>(&outcome);
  if (placement == nullptr) return reject(std::move(ticket), std::get<cycle::Rejection>(outcome), false);
  // A member beyond those that a group needs is not bound before they are.
  Barrier barrier = ticket.group().empty() ? nullptr : unopened_barrier(ticket.group());
  if (barrier) barrier->renew();
  place(std::move(ticket), std::move(*placement), std::move(barrier));
}

void Scheduler::reject(queue::Ticket ticket, const cycle::Rejection& rejection, bool says_once) {
  const model::PodPtr pod = ticket.pod();
  if (!rejection.victims.empty()) {
    if (const Status evicted = preempt(pod, rejection); !evicted.ok()) {
      observe::error("Preemption failed", {{"err", evicted.error().message}, {"pod", *pod}});
      cycle::Rejection without = rejection;
      without.victims.clear();
      without.nomination = {};  // a node that it was nominated to before stays so
      without.post_filter_message = "preemption: " + evicted.error().message;
      return reject(std::move(ticket), without, says_once);
    }
  }
  failures_.handle(std::move(ticket),
                   {rejection.code, rejection.full_message(), rejection.rejectors, rejection.nomination, says_once,
                    began_ns_, rejection.has_no_nodes},
                   pod->scheduler_name);
}

// Pods that get nodes together: from the first of them that is popped to the binding of all, or of none.

void Scheduler::decide_group(queue::Ticket ticket, const Watch& watch) {
  const model::PodPtr pod = ticket.pod();
  const framework::Quorum quorum = framework::ask_quorum(*framework_->find(pod->scheduler_name)->groups, *pod);
  if (quorum.verdict.success() && quorum.needed == 0) return decide_alone(std::move(ticket), watch);
  if (quorum.verdict.success()) {
    std::vector<queue::Ticket> tickets;
    for (queue::Ticket& member : queue_.pop_group(std::move(ticket)))
      if (wants_decision(member)) tickets.push_back(std::move(member));
    return plan_group(std::move(tickets), quorum, watch);
  }
  // The others keep what they were told; the one that completes the group takes them along.
  if (watch.before) watch.before(pod);
  cycle::Outcome outcome = cycle_.reject(quorum.verdict);
  if (ground_->recording)
    ground_->recording->attempt(ticket, pod, outcome, {.way = recording::Way::unplanned}, *framework_);
  if (watch.after) watch.after(pod, outcome);
  reject(std::move(ticket), std::get<cycle::Rejection>(outcome), true);
}

void Scheduler::plan_group(std::vector<queue::Ticket> tickets, const framework::Quorum& quorum, const Watch& watch) {
  if (tickets.empty()) return;
  const std::string group = tickets.front().group();
  const framework::PluginInstance& policy = *framework_->find(tickets.front().pod()->scheduler_name)->groups;

  // 1. A plan, or why there is none.
  for (const queue::Ticket& ticket : tickets)
    if (watch.before) watch.before(ticket.pod());
  cycle::GroupOutcome plan;
  recording::Attempt attempt;
  attempt.needed = quorum.needed;
  attempt.rotation = cycle_.rotation();
  const bool complete = tickets.size() >= quorum.needed;
  if (!complete) {
    // Some member is on its way: held by a gate, or failing elsewhere. It takes the others along when it comes.
    cycle::Rejection rejection;
    rejection.message = fmt::format("pod group {}: {} of {} members are ready", group, tickets.size(), quorum.needed);
    rejection.rejectors.unschedulable.insert(policy.index());
    rejection.nomination = {};
    while (plan.members.size() < tickets.size()) plan.members.emplace_back(rejection);
  } else {
    plan = this->plan(group_request(tickets, quorum.needed),
                      {&parts_.clock, parts_.plan_limit_ns, [this] { return gives_plans_up_.load(); }, watch.comes_to});
    ground_->recorded.choice_made(cycle_.choice_ticks(), cycle_.reuse_counts());
  }
  const bool overdue = plan.kind == cycle::GroupOutcome::Kind::overdue;
  if (overdue) {
    // As above: tried again when something about the group changes, not as often as backoff allows.
    for (cycle::Outcome& member : plan.members)
      std::get<cycle::Rejection>(member).rejectors.unschedulable.insert(policy.index());
    observe::warning("A plan for a pod group takes too long", {{"group", group}, {"members", tickets.size()}});
  }
  if (ground_->recording && plan.kind != cycle::GroupOutcome::Kind::given_up) {
    attempt.way = complete && !overdue ? recording::Way::planned : recording::Way::unplanned;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      attempt.members_left = static_cast<std::uint32_t>(tickets.size() - i - 1);
      ground_->recording->attempt(tickets[i], tickets[i].pod(), plan.members[i], recording::Attempt(attempt),
                                  *framework_, queue_.monotonic_ns(began_ns_));
    }
  }
  if (plan.kind == cycle::GroupOutcome::Kind::given_up) {  // they are not tried any more, and nothing is said of them
    for (queue::Ticket& ticket : tickets) queue_.done(std::move(ticket));
    return;
  }
  for (std::size_t i = 0; i < tickets.size(); ++i)
    if (watch.after) watch.after(tickets[i].pod(), plan.members[i]);

  // 2. What becomes of members that are placed already and wait for the rest.
  Barrier barrier = unopened_barrier(group);
  if (plan.kind == cycle::GroupOutcome::Kind::placed && barrier) {
    barrier->renew();
  } else if (plan.kind == cycle::GroupOutcome::Kind::placed && quorum.needed > 1) {
    barrier = std::make_shared<binding::GroupBarrier>(ground_->waiting, quorum.hold, quorum.needed);
    barriers_[group] = barrier;
  }
  if ((plan.kind == cycle::GroupOutcome::Kind::short_of || overdue) && complete && barrier)
    barrier->release(std::get<cycle::Rejection>(plan.members.back()).message);

  // 3. Carry it out.
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    if (auto* placement = std::get_if<cycle::Placement>(&plan.members[i]))
      place(std::move(tickets[i]), std::move(*placement), barrier);
    else
      reject(std::move(tickets[i]), std::get<cycle::Rejection>(plan.members[i]), true);
  }
}

cycle::GroupOutcome Scheduler::plan(const cycle::GroupRequest& request, cycle::PlanLimits limits) {
  const GroupMembers::Planning planning(ground_->group_members, request.key);
  return cycle::GroupCycle(cycle_, ground_->snapshot, ground_->cache.resources(), std::move(limits)).run(request);
}

cycle::GroupRequest Scheduler::group_request(std::span<const queue::Ticket> tickets, std::uint32_t needed) {
  cycle::GroupRequest request;
  request.key = tickets.front().group();
  request.needed = needed;
  request.of_group = [this, group = request.key](const model::Pod& pod) {
    const Result<std::string> name = framework_->group_of(pod);
    return name.ok() && !name->empty() && cache::group_key(pod, *name) == group;
  };
  // An extender may tell apart what is alike to all plugins.
  const auto class_of = [&](const queue::Ticket& ticket) -> std::uint64_t {
    return parts_.extenders != nullptr && parts_.extenders->judges(*ticket.pod()) ? 0 : ticket.pod_class();
  };
  for (const queue::Ticket& ticket : tickets) request.members.push_back({ticket.pod(), class_of(ticket)});
  return request;
}

Scheduler::Barrier Scheduler::unopened_barrier(const std::string& group) {
  std::erase_if(barriers_, [](const auto& entry) { return entry.second.expired(); });
  const auto at = barriers_.find(group);
  Barrier barrier = at == barriers_.end() ? nullptr : at->second.lock();
  return barrier != nullptr && !barrier->is_open() ? barrier : nullptr;
}

}  // namespace berth::scheduler
