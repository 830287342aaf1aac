// SPDX-License-Identifier: Apache-2.0
// Pods that get nodes together: from the first of them that is popped to the binding of all, or of none.
#include "observe/log.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::scheduler {

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
  cycle::Outcome outcome = cycle_.turn_away(quorum.verdict);
  if (ground_->recording) ground_->recording->attempt(ticket, outcome, {.way = recording::Way::unplanned}, *framework_);
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
      ground_->recording->attempt(tickets[i], plan.members[i], attempt, *framework_, queue_.monotonic_ns(began_ns_));
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
  // An extender may tell apart what is alike to everybody else.
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
