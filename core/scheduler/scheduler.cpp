// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.hpp"

#include <algorithm>

#include "base/guarded.hpp"
#include "base/product.hpp"
#include "framework/services/gates_service.hpp"
#include "ingest/ingest.hpp"
#include "observe/log.hpp"
#include "scheduler/budget_reader.hpp"
#include "scheduler/object_projector.hpp"
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

cycle::CycleOptions cycle_options(const config::Configuration& configuration, const Clock& clock) {
  cycle::CycleOptions options;
  options.percentage_of_nodes_to_score = configuration.percentage_of_nodes_to_score;
  options.reuse = configuration.plugins.verdict_reuse;
  const config::LegacyMode& legacy = configuration.legacy;
  options.check_all_filters = legacy.check_all_filters;
  options.score_max = legacy.max_node_score;
  if (legacy.search) {
    constexpr std::int32_t k_adaptive = 0;
    options.percentage_of_nodes_to_score = configuration.percentage_of_nodes_to_score.value_or(k_adaptive);
    options.tie_seed = legacy.seed.value_or(static_cast<std::uint64_t>(clock.wall_ns()));
    observe::info("Ties between nodes are broken at random", {{"seed", std::to_string(*options.tie_seed)}});
  }
  return options;
}

preemption::CandidateReview candidate_review(extender::Extenders* extenders) {
  if (extenders == nullptr || !extenders->any_preempts()) return {};
  return
      [extenders](framework::Host& host, const model::Pod& preemptor, std::vector<preemption::Candidate>& candidates) {
        return extenders->review(preemptor, candidates, host);
      };
}

/// Whether a plugin of some profile declares that service.
bool declares(const config::Configuration& configuration, const std::vector<framework::PluginSource>& plugins,
              std::string_view service_id) {
  const auto declares_it = [&](const config::EnabledPlugin& enabled) {
    return !enabled.absent && std::any_of(plugins.begin(), plugins.end(), [&](const framework::PluginSource& source) {
      return source.descriptor->name == enabled.name && framework::declares(*source.descriptor, service_id);
    });
  };
  for (const config::Profile& profile : configuration.profiles)
    for (const auto& enabled : profile.points)
      if (std::any_of(enabled.begin(), enabled.end(), declares_it)) return true;
  return false;
}

}  // namespace

Scheduler::Scheduler(SchedulerParts parts)
    : parts_(std::move(parts)),
      bind_lookups_{[this](const model::Pod& pod) {
                      const model::PodPtr now = parts_.lookup(pod);
                      return now != nullptr && now->uid == pod.uid;
                    },
                    [this](std::string_view name) { return cache_.find_node(parts_.symbols.find(name)); }},
      cache_(parts_.symbols),
      groups_([this](const model::Pod& pod) {
        // A pod whose group cannot be told counts for none; the queue says so and holds it back.
        Result<std::string> name = framework_->group_of(pod);
        return name.ok() ? std::move(*name) : std::string();
      }),
      objects_(make_projector(parts_.configuration.features),
               [this](const model::ObjectPtr& written) { announce(written); }),
      metrics_(counters_),
      timers_(parts_.clock),
      waiting_(timers_),
      recorded_(parts_.configuration, metrics_, counters_),
      activations_(parts_.on_activation),
      writes_(parts_.writer),
      events_(parts_.writer),
      tasks_(parts_.executor, timers_),
      group_members_(groups_, cache_,
                     [&profiles = parts_.configuration.profiles](std::string_view name) {
                       return std::any_of(profiles.begin(), profiles.end(),
                                          [&](const auto& profile) { return profile.scheduler_name == name; });
                     }),
      plugin_nominations_([this] {
        const cycle::Nominations known = parts_.nominations ? *parts_.nominations : cycle::Nominations::of(*queue_);
        std::vector<framework::NominationsPort::Nominated> out;
        if (!known.any()) return out;
        for (queue::NominatedPod& each : known.all())
          if (each.node != k_no_symbol) out.push_back({each.node, std::move(each.pod)});
        return out;
      }),
      evictions_({parts_.executor, parts_.writer, activations_, parts_.lookup,
                  [this](std::string_view uid, model::PluginIndex by, const std::string& plugin) {
                    return waiting_.preempt(uid, by, "preempted") ||
                           binder_->preempt(uid, by, "preempted by " + plugin);
                  },
                  [this](const binding::EvictionOrder& order, bool failed) {
                    recorded_.evictions_ended(failed, parts_.clock.monotonic_ns() - order.began_ns);
                  }}),
      preemption_(objects_, declares(parts_.configuration, parts_.plugins, preemption::k_service),
                  budget_reader(parts_.symbols), candidate_review(parts_.extenders)) {}

Scheduler::~Scheduler() = default;

void Scheduler::end_bindings(std::chrono::milliseconds limit) {
  if (binder_->drain(limit)) return;
  framework_->host().bind_calls.give_up();
  // What was given up ends at once; so does what was answered at the last moment, which is not counted.
  binder_->drain(std::max<std::chrono::milliseconds>(limit, std::chrono::seconds(1)));
}

/// Waiting pods hear of what this process wrote at once, not when the watch comes round to it.
void Scheduler::announce(const model::ObjectPtr& written) {
  const model::EventResource resource = ingest::event_resource(written->resource);
  if (resource == model::EventResource::any) return;
  const model::EventObjects objects{nullptr, nullptr, nullptr, nullptr, nullptr, written};
  queue_->move_all({resource, model::actions::update, {}}, objects);
}

bool Scheduler::build(std::vector<std::string>& complaints) {
  std::vector<framework::HostService> services = preemption_.services();
  services.push_back(framework::gates_service(parts_.configuration.features));
  framework::Framework::Made made = framework::Framework::make(
      parts_.configuration, config::AbsentPlugins::embedded(), parts_.plugins,
      {parts_.symbols,
       snapshot_,
       cache_.resources(),
       cache_.lists(),
       [this](cache::PodHandle handle) { return cache_.pod(handle); },
       objects_,
       metrics_,
       counters_,
       {parts_.clock, waiting_, activations_, writes_, events_, tasks_, &evictions_, &group_members_,
        &plugin_nominations_},
       std::string(product()),
       std::move(services),
       parts_.extenders != nullptr ? std::string(extender::k_extender_rejector) : std::string(),
       parts_.traps_unasked_fields});
  for (const framework::Framework::Refusal& refusal : made.refusals)
    complaints.push_back(fmt::format("BERTH-P051 profile \"{}\": plugin {} refused to be made: {}",
                                     refusal.scheduler_name, refusal.plugin, refusal.message));
  if (!made.framework) return false;
  framework_ = std::move(made.framework);
  policy_ =
      std::make_unique<queue::PluginPolicy>(*framework_, queue::PluginPolicyOptions{parts_.opens_gates, parts_.watch});
  HintThreadsOptions hints;
  hints.patience_ns = parts_.hint_patience_ns;
  hints.watch = parts_.watch;
  auto hint_threads = std::make_shared<HintThreads>(parts_.clock, hints);
  queue_ = std::make_unique<queue::SchedulingQueue>(queue_options(parts_),
                                                    make_hint_table(*framework_, hints_, std::move(hint_threads)),
                                                    *policy_, parts_.lookup, parts_.clock);
  cycle::Nominations nominations = parts_.nominations ? *parts_.nominations : cycle::Nominations::of(*queue_);
  if (parts_.recorder != nullptr) {
    recording_ = std::make_unique<DecisionRecording>(*parts_.recorder, cache_, snapshot_);
    cache_.tell(recording_.get());
    nominations = recording_->watched(std::move(nominations));
  }
  cycle_ = std::make_unique<cycle::SchedulingCycle>(
      *framework_, cache_, snapshot_, std::move(nominations), cycle_options(parts_.configuration, parts_.clock),
      cycle::CycleParts{parts_.extenders, &preemption_,
                        [this](const cycle::UndeclaredInput& input, const model::Pod& pod) { report(input, pod); }});
  failures_ =
      std::make_unique<binding::FailureHandler>(*queue_, parts_.lookup, parts_.writer, parts_.symbols, recorded_);
  binder_ = std::make_unique<binding::Binder>(
      binding::BinderOptions{parts_.configuration.features.nominates_before_slow_bindings,
                             parts_.bindings_in_flight_max},
      binding::BinderParts{parts_.executor, waiting_, *failures_, *queue_, parts_.writer, parts_.symbols, recorded_,
                           keep_bound(), parts_.gate, bind_lookups_, extender_bindings(), parts_.watch});
  cache_.rest(snapshot_);  // a standby does not look at it before it leads
  return true;
}

/// In the mode of v1.16 a pod that is bound and not heard of for 30 s is no longer believed to be on its node.
std::function<void(cache::Assumption)> Scheduler::keep_bound() {
  if (!parts_.configuration.legacy.queue) return {};
  return [this](cache::Assumption assumption) {
    // A timer's call is copyable, an assumption is not.
    const auto kept = std::make_shared<cache::Assumption>(std::move(assumption));
    timers_.start(k_assumed_kept_of_v1_16_ns, [kept] { kept->forget(); });
  };
}

binding::ExtenderBindings Scheduler::extender_bindings() const {
  binding::ExtenderBindings out;
  if (parts_.extenders == nullptr || parts_.extender_binding == ExtenderBinding::none) return out;
  for (const auto& extender : parts_.extenders->all())
    if (extender->binds()) out.binders.push_back(extender.get());
  if (parts_.extender_binding == ExtenderBinding::recorded)
    out.record = [&writer = parts_.writer](const model::Pod& pod, std::string_view node,
                                           std::function<void(Status)> done) {
      writer.bind(cluster::PodRef::of(pod), node, std::move(done));
    };
  return out;
}

std::unique_ptr<Scheduler> Scheduler::make(SchedulerParts parts, std::vector<std::string>& complaints) {
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(parts)));
  if (!scheduler->build(complaints)) return nullptr;
  return scheduler;
}

void Scheduler::place(queue::Ticket ticket, cycle::Placement placement, Barrier barrier) {
  binder_->start(std::move(ticket), std::move(placement), {began_ns_, std::move(barrier)});
}

void Scheduler::take_activations() {
  const ActivationRequests::Taken taken = activations_.take();
  if (!taken.uids.empty()) queue_->activate_uids(taken.uids);
  for (const std::uint64_t pod_class : taken.classes) queue_->activate_class(pod_class);
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
    if (const auto victim = cache_.find_pod(uid)) order.victims.push_back(victim->pod);
  for (const queue::NominatedPod& nominated : queue_->nominations()) {
    if (nominated.node != rejection.nomination.node || nominated.pod->uid == pod->uid) continue;
    const model::PodPtr now = parts_.lookup(*nominated.pod);
    if (now && now->uid == nominated.pod->uid && now->priority < pod->priority && now->nominated_node != k_no_symbol)
      order.outranked.push_back(now);
  }
  // Those who are all on their way out already go without being asked to.
  if (std::any_of(order.victims.begin(), order.victims.end(), [](const auto& victim) { return !victim->deleting; }))
    recorded_.victims_chosen(order.victims.size());
  if (rejection.preemption) {
    cluster::EventRecord event;
    event.regarding = cluster::PodRef::of(*pod);
    event.reason = "Preempting";
    event.action = "Preempting";
    event.note = binding::event_note(rejection.preemption->sentence());
    event.controller = pod->scheduler_name;
    parts_.writer.record_event(event, [](const Status&) {});
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
  parts_.writer.record_event(event, [](const Status&) {});
}

cycle::Explanation Scheduler::explain(const model::PodPtr& pod, bool with_details) {
  const Lock lock(deciding_);
  cycle::Explanation explanation = cycle_->explain(pod, with_details);
  cache_.rest(snapshot_);
  return explanation;
}

void Scheduler::try_pod(const model::PodPtr& pod, const std::function<void(const cycle::Attempt& tried)>& look) {
  const Lock lock(deciding_);
  cycle::GangAttempt alone;
  alone.member = [](const model::Pod&) { return false; };
  cycle_->begin_gang_attempt();
  cycle::Attempt tried = cycle_->reserve(pod, 0, alone);
  look(tried);
  if (tried.placement) cycle_->give_back(std::move(*tried.placement));
  cache_.rest(snapshot_);
}

void Scheduler::inspect(const std::function<void(const cache::Snapshot& snapshot)>& look) {
  const Lock lock(deciding_);
  cache_.refresh(snapshot_);
  look(snapshot_);
  cache_.rest(snapshot_);
}

bool Scheduler::schedule_one() { return schedule_one({}); }

bool Scheduler::schedule_one(const Watch& watch) {
  take_activations();  // evictions end when they like
  auto popped = queue_->pop();
  if (!popped) return false;
  decide(std::move(*popped), watch);
  return true;
}

bool Scheduler::schedule_next(const Watch& watch) {
  take_activations();
  binder_->wait_for_room(k_room_patience);
  auto popped = queue_->wait_pop([this] { cache_.rest(snapshot_); });
  if (!popped) return false;
  decide(std::move(*popped), watch);
  return true;
}

void Scheduler::decide(queue::Ticket ticket, const Watch& watch) {
  const Lock lock(deciding_);
  if (!wants_decision(ticket)) return;
  began_ns_ = queue_->now_ns();
  if (ticket.group().empty())
    decide_alone(std::move(ticket), watch);
  else
    decide_group(std::move(ticket), watch);
  take_activations();
}

bool Scheduler::wants_decision(queue::Ticket& ticket) {
  const model::PodPtr pod = ticket.pod();
  observe::V(4).info("About to try and schedule pod", {{"pod", *pod}});
  if (framework_->find(pod->scheduler_name) == nullptr || cache_.is_assumed(pod->uid)) {
    queue_->done(std::move(ticket));
    return false;
  }
  if (!pod->deleting) {
    observe::V(3).info("Attempting to schedule pod", {{"pod", *pod}});
    return true;
  }
  failures_->skip_deleting(std::move(ticket), pod->scheduler_name);
  return false;
}

void Scheduler::decide_alone(queue::Ticket ticket, const Watch& watch) {
  const model::PodPtr pod = ticket.pod();
  if (watch.before) watch.before(pod);
  recording::Attempt attempt;
  attempt.rotation = cycle_->rotation();
  cycle::Outcome outcome = cycle_->run(pod, ticket.pod_class());
  recorded_.choice_made(cycle_->choice_ticks(), cycle_->reuse_counts());
  if (recording_) recording_->attempt(ticket, outcome, attempt, *framework_, queue_->monotonic_ns(began_ns_));
  if (watch.after) watch.after(pod, outcome);
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
  failures_->handle(std::move(ticket),
                    {rejection.code, rejection.full_message(), rejection.rejectors, rejection.nomination, says_once,
                     began_ns_, rejection.has_no_nodes},
                    pod->scheduler_name);
}

}  // namespace berth::scheduler
