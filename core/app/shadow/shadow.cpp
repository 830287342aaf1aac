// SPDX-License-Identifier: Apache-2.0
#include "app/shadow/shadow.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/shadow/cause_search.hpp"
#include "cycle/node_choice.hpp"
#include "model/event_diff.hpp"
#include "observe/log.hpp"

namespace berth::app {

Shadow::Shadow(cluster::ClusterSink& sink, scheduler::Scheduler& scheduler, const config::Configuration& configuration,
               const Clock& clock)
    : sink_(sink),
      scheduler_(scheduler),
      configuration_(configuration),
      clock_(clock),
      began_ns_(clock.monotonic_ns()) {}

void Shadow::synced() {
  is_synced_ = true;
  sink_.synced();
}

void Shadow::pod_added(const model::PodPtr& pod) {
  settle_due();
  see_waiting(pod);
  if (is_synced_) see(pod);
  see_nomination(pod, pod->nominated_node, true);
  sink_.pod_added(pod);
}

void Shadow::pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  settle_due();
  if (old_pod->uid != new_pod->uid) {  // another pod of that name, as a list shows it
    see_gone(old_pod);
    see_waiting(new_pod);
    if (is_synced_) see(new_pod);
  } else if (new_pod->node_name != k_no_symbol && old_pod->node_name == k_no_symbol) {
    const QueuePlace place = leaves_queue(old_pod);
    if (is_synced_) {
      if (scheduler_.views().framework.find(old_pod->scheduler_name) != nullptr)
        guarded("compare", [&] { compare(old_pod, new_pod, place); });
      note_pod(new_pod, true, place);
    }
  } else if (new_pod->node_name == k_no_symbol) {
    see_failure(old_pod, new_pod);
  }
  if (old_pod->nominated_node != new_pod->nominated_node) {
    see_nomination(old_pod, old_pod->nominated_node, false);
    see_nomination(new_pod, new_pod->nominated_node, true);
  }
  sink_.pod_updated(old_pod, new_pod);
}

void Shadow::pod_deleted(const model::PodPtr& pod) {
  settle_due();
  see_gone(pod);
  sink_.pod_deleted(pod);
}

/// A pod that is new here, and may have a node.
void Shadow::see(const model::PodPtr& pod) {
  if (pod->node_name == k_no_symbol) return;
  note_pod(pod, true);
  if (scheduler_.views().framework.find(pod->scheduler_name) == nullptr) return;
  const Lock lock(mutex_);
  ++report_.not_seen_before;
}

void Shadow::see_nomination(const model::PodPtr& pod, Symbol node, bool came) {
  if (!is_synced_ || node == k_no_symbol) return;
  ClusterChange change;
  change.at_ns = now_ns();
  change.pod = pod;
  change.came = came;
  change.nominated_to = node;
  note(std::move(change));
}

void Shadow::see_waiting(const model::PodPtr& pod) {
  if (pod->node_name != k_no_symbol) return;
  const bool has_place = queued_.size() < k_queued_max;
  if (has_place) queued_[pod->uid.text()] = {++last_place_, false};
  count_queued(!has_place);
}

void Shadow::count_queued(bool is_left_out) {
  const Lock lock(mutex_);
  report_.queued = queued_.size();
  report_.queued_left_out += is_left_out;
}

void Shadow::see_failure(const model::PodPtr& old_pod, const model::PodPtr& new_pod) {
  const auto failed = [](const model::PodCondition& condition) {
    return condition.type == "PodScheduled" && condition.status == "False" && condition.reason != "SchedulingGated";
  };
  const auto now = std::find_if(new_pod->conditions.begin(), new_pod->conditions.end(), failed);
  if (now == new_pod->conditions.end()) return;
  const auto before = std::find_if(old_pod->conditions.begin(), old_pod->conditions.end(), failed);
  if (before != old_pod->conditions.end() && *before == *now) return;
  if (const auto place = queued_.find(new_pod->uid.text()); place != queued_.end())
    place->second = {++last_place_, true};
}

QueuePlace Shadow::leaves_queue(const model::PodPtr& pod) {
  const auto place = queued_.extract(pod->uid.text());
  if (!place) return {};
  count_queued(false);
  return place.mapped();
}

void Shadow::see_gone(const model::PodPtr& pod) {
  leaves_queue(pod);
  if (pod->node_name == k_no_symbol) see_nomination(pod, pod->nominated_node, false);
  if (pod->node_name != k_no_symbol) note_pod(pod, false);
}

void Shadow::node_added(const model::NodePtr& node) {
  settle_due();
  if (is_synced_) note_node(node, true);
  sink_.node_added(node);
}

void Shadow::node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) {
  settle_due();
  if (!model::node_update_events(*old_node, *new_node).empty()) note_node(new_node, true);
  sink_.node_updated(old_node, new_node);
}

void Shadow::node_deleted(const model::NodePtr& node) {
  settle_due();
  note_node(node, false);
  sink_.node_deleted(node);
}

std::int64_t Shadow::now_ns() const { return clock_.monotonic_ns() - explained_ns_; }

void Shadow::note_pod(const model::PodPtr& pod, bool came, QueuePlace place) {
  ClusterChange change;
  change.at_ns = now_ns();
  change.pod = pod;
  change.came = came;
  change.place = place;
  change.last_place = last_place_;
  note(std::move(change));
}

void Shadow::note_node(const model::NodePtr& node, bool came) {
  ClusterChange change;
  change.at_ns = now_ns();
  change.node = node;
  change.came = came;
  note(std::move(change));
}

void Shadow::note(ClusterChange change) {
  forget_changes(change.at_ns);
  while (!unfinished_.empty() && changes_.size() >= k_kept_changes_max) {
    const auto oldest = oldest_unfinished();
    Held held = std::move(*oldest);
    unfinished_.erase(oldest);
    give_up(std::move(held));
    report_waiting();
    forget_changes(change.at_ns);
  }
  changes_.push_back(std::move(change));
}

/// All but those that are needed for what is not explained yet, or may be for what comes next.
void Shadow::forget_changes(std::int64_t now_ns) {
  std::int64_t since_ns = now_ns - 2 * k_window_ns;
  if (!unfinished_.empty()) since_ns = std::min(since_ns, oldest_unfinished()->decision.at_ns - k_window_ns);
  while (!changes_.empty() &&
         (changes_.front().at_ns < since_ns || (unfinished_.empty() && changes_.size() >= k_changes_max)))
    changes_.pop_front();
}

std::deque<Shadow::Held>::iterator Shadow::oldest_unfinished() {
  return std::min_element(unfinished_.begin(), unfinished_.end(),
                          [](const Held& a, const Held& b) { return a.decision.at_ns < b.decision.at_ns; });
}

void Shadow::count(ShadowDifference difference) {
  const Lock lock(mutex_);
  ++report_.results[static_cast<std::size_t>(difference.result)];
  if (difference.result == ShadowResult::same || difference.result == ShadowResult::tie) return;
  if (difference.node_here.empty()) ++report_.without_node;
  if (difference.result != ShadowResult::rejected)
    report_.score_lost +=
        static_cast<std::uint64_t>(std::max<std::int64_t>(difference.best_here - difference.score, 0));
  std::vector<ShadowDifference>& kept = report_.differences;
  if (kept.size() == ShadowReport::k_differences_max) {
    ++report_.differences_left_out;
    if (difference.result == ShadowResult::race) return;
    // What is explained makes room for what is not.
    const auto race = std::find_if(kept.begin(), kept.end(),
                                   [](const ShadowDifference& each) { return each.result == ShadowResult::race; });
    if (race == kept.end()) return;
    kept.erase(race);
  }
  kept.push_back(std::move(difference));
}

void Shadow::compare(const model::PodPtr& pod, const model::PodPtr& bound, QueuePlace place) {
  Held held;
  const std::int64_t begin_ns = clock_.monotonic_ns();
  held.decision = {now_ns(), pod, bound, place, last_place_};
  ShadowDifference& difference = held.difference;
  difference.wall_ns = clock_.wall_ns();
  difference.pod = pod->key();
  difference.node = std::string(scheduler_.views().symbols.text(bound->node_name));
  std::string no_node;
  scheduler_.try_pod(pod, [&](const cycle::Attempt& tried) {
    if (tried.placement)
      difference.node_here = tried.placement->node->name;
    else
      no_node = tried.rejection ? tried.rejection->full_message() : std::string();
  });
  observe::V(2).info("Decided again what the scheduler in charge has decided",
                     {{"pod", *pod}, {"node", difference.node}, {"nodeHere", difference.node_here}});
  {
    const Lock lock(mutex_);
    report_.decision_ns += clock_.monotonic_ns() - begin_ns;
  }
  if (difference.node_here == difference.node) {
    difference.result = ShadowResult::same;
    return count(std::move(difference));
  }
  // With nominated pods, as the decision.
  const Judgement judgement = judge(pod, difference.node, {.nominated = true});
  const bool has_node_here = !difference.node_here.empty();
  if (has_node_here && judgement.fits && judgement.score == judgement.best) {
    difference.result = ShadowResult::tie;
    return count(std::move(difference));
  }
  difference.score = judgement.score;
  difference.best_here = judgement.best;
  difference.plugin = judgement.plugin;
  difference.why = judgement.why.empty() ? no_node : judgement.why;
  difference.result = !judgement.is_known               ? ShadowResult::race
                      : !judgement.fits                 ? ShadowResult::rejected
                      : may_be_sampled(*pod, judgement) ? ShadowResult::sampling
                                                        : ShadowResult::unexplained;
  if (held_.size() == k_held_max) settle_first();
  held_.push_back(std::move(held));
  report_waiting();
}

Shadow::Judgement Shadow::judge(const model::PodPtr& pod, const std::string& node, cycle::ExplainWith with) {
  Judgement out;
  const cycle::Explanation explanation = scheduler_.explain(pod, with);
  const cycle::NodeExplanation* found = explanation.pod_rejection ? &*explanation.pod_rejection : nullptr;
  const cycle::NodeExplanation* best = nullptr;
  for (const cycle::NodeExplanation& each : explanation.nodes) {
    if (each.node == node) found = &each;
    if (each.code != framework::Code::success) continue;
    ++out.feasible;
    if (best == nullptr || each.total > best->total) best = &each;
  }
  out.is_known = scheduler_.views().cache.find_node(scheduler_.views().symbols.find(node)) != nullptr;
  if (!out.is_known) {
    out.why = "the node is not known here";
    return out;
  }
  if (!explanation.error.empty()) {
    out.why = explanation.error;
    return out;
  }
  if (best != nullptr) out.best = best->total;
  if (found == nullptr) {
    out.why = "pre-filter leaves the node out";
    return out;
  }
  if (found->code != framework::Code::success) {
    out.plugin = found->plugin;
    out.why = fmt::format("{}: {}", found->plugin, fmt::join(found->reasons, ", "));
    return out;
  }
  out.fits = true;
  out.score = found->total;
  for (const cycle::NodeExplanation& each : explanation.nodes)
    if (each.code == framework::Code::success && each.total <= found->total) ++out.not_better;
  // Whose scores speak most for the best node.
  std::int64_t most = 0;
  for (std::size_t i = 0; best != nullptr && i < std::min(best->scores.size(), found->scores.size()); ++i) {
    if (const std::int64_t ahead = best->scores[i] - found->scores[i]; ahead > most) {
      most = ahead;
      out.plugin = explanation.scorers[i];
      out.why = fmt::format("{} gives {} {} points, and this node {}", out.plugin, best->node, best->scores[i],
                            found->scores[i]);
    }
  }
  return out;
}

bool Shadow::may_be_sampled(const model::Pod& pod, const Judgement& judgement) const {
  std::optional<std::int32_t> percentage = configuration_.percentage_of_nodes_to_score;
  for (const config::Profile& profile : configuration_.profiles)
    if (profile.scheduler_name == pod.scheduler_name && profile.percentage_of_nodes_to_score)
      percentage = profile.percentage_of_nodes_to_score;
  const std::int64_t all = static_cast<std::int64_t>(scheduler_.views().cache.counts().nodes);
  const std::int64_t sample = cycle::nodes_to_find(all, percentage.value_or(0));
  return static_cast<std::int64_t>(judgement.feasible) > sample &&
         static_cast<std::int64_t>(judgement.not_better) >= sample;
}

/// Of many, those that fit into a moment: the reader waits meanwhile, and each change settles more.
void Shadow::settle_due() {
  const std::int64_t due_ns = now_ns() - k_window_ns;
  if (!held_.empty() && held_.front().decision.at_ns <= due_ns)
    settle_until(due_ns, clock_.monotonic_ns() + k_settling_ns);
  else if (!unfinished_.empty() && is_quiet() && explaining_ns() == k_explaining_ns)
    search_further(clock_.monotonic_ns() + k_explaining_ns);
}

void Shadow::finish(std::int64_t limit_ns) {
  const std::int64_t end_ns = clock_.monotonic_ns() + limit_ns;
  settle_until(std::numeric_limits<std::int64_t>::max(), end_ns);
  while (!unfinished_.empty() && clock_.monotonic_ns() < end_ns)
    search_further(std::min(end_ns, clock_.monotonic_ns() + k_explaining_ns));
  while (!unfinished_.empty()) {
    give_up(std::move(unfinished_.front()));
    unfinished_.pop_front();
  }
  report_waiting();
}

void Shadow::settle_until(std::int64_t due_ns, std::int64_t end_ns) {
  while (!held_.empty() && held_.front().decision.at_ns <= due_ns && clock_.monotonic_ns() < end_ns) settle_first();
  report_waiting();
}

void Shadow::report_waiting() {
  const Lock lock(mutex_);
  report_.waiting = held_.size() + unfinished_.size();
}

void Shadow::settle_first() {
  Held held = std::move(held_.front());
  held_.pop_front();
  settle(std::move(held), clock_.monotonic_ns() + explaining_ns());
}

void Shadow::search_further(std::int64_t end_ns) {
  Held held = std::move(unfinished_.front());
  unfinished_.pop_front();
  if (can_be_rewound(held))
    settle(std::move(held), end_ns);
  else
    give_up(std::move(held));
  report_waiting();
}

bool Shadow::is_quiet() const {
  return changes_.size() < k_quiet_changes_max ||
         changes_[changes_.size() - k_quiet_changes_max].at_ns < now_ns() - k_quiet_ns;
}

bool Shadow::can_be_rewound(const Held& held) const {
  return std::none_of(changes_.begin(), changes_.end(), [&](const ClusterChange& change) {
    return change.node != nullptr && change.at_ns > held.decision.at_ns + k_window_ns;
  });
}

std::int64_t Shadow::explaining_ns() const {
  const std::int64_t left_ns = k_explaining_ahead_ns + (clock_.monotonic_ns() - began_ns_) / 2 - explained_ns_;
  return std::clamp<std::int64_t>(left_ns, 0, k_explaining_ns);
}

/// What follows the cluster goes on, whatever becomes of a comparison.
template <typename Step>
void Shadow::guarded(std::string_view step_name, Step&& step) {
  try {
    step();
  } catch (const std::exception& e) {
    observe::error("Failed to compare a decision of the scheduler in charge", {{"err", e.what()}, {"step", step_name}});
    const Lock lock(mutex_);
    ++report_.failed;
  }
}

bool Shadow::settle_at_once(Held& held) const {
  ShadowDifference& difference = held.difference;
  if (difference.result == ShadowResult::race) {
    difference.why = "the node was not known here yet";
    return true;
  }
  const auto node = std::find_if(changes_.begin(), changes_.end(), [&](const ClusterChange& change) {
    return change.node != nullptr && change.at_ns >= held.decision.at_ns - k_window_ns &&
           (change.node->name == difference.node || change.node->name == difference.node_here);
  });
  if (node == changes_.end()) return false;
  difference.result = ShadowResult::race;
  difference.why = fmt::format("node {} changed", node->node->name);
  return true;
}

void Shadow::settle(Held held, std::int64_t end_ns) {
  if (settle_at_once(held)) return count(std::move(held.difference));
  const std::int64_t begin_ns = clock_.monotonic_ns();
  bool has_ended = false, is_cut_short = false;
  guarded("explain", [&] {
    CauseSearch search(scheduler_, clock_, changes_, held.decision);
    const std::string cause = search.find(end_ns, held.tried_in_vain);
    is_cut_short = search.is_cut_short() && cause.empty();
    has_ended = true;
    if (cause.empty()) return;
    held.difference.result = ShadowResult::race;
    held.difference.why = cause;
  });
  explained_ns_ += clock_.monotonic_ns() - begin_ns;
  if (!has_ended) return;
  if (!is_cut_short) return count(std::move(held.difference));
  if (++held.searches >= k_searches_max) return give_up(std::move(held));
  if (unfinished_.size() == k_unfinished_max) {
    give_up(std::move(unfinished_.front()));
    unfinished_.pop_front();
  }
  unfinished_.push_back(std::move(held));
}

void Shadow::give_up(Held held) {
  {
    const Lock lock(mutex_);
    ++report_.cut_short;
  }
  held.difference.why += " (the search for a cause was cut short)";
  count(std::move(held.difference));
}

ShadowReport Shadow::report() const {
  const Lock lock(mutex_);
  ShadowReport out = report_;
  out.seconds = static_cast<double>(clock_.monotonic_ns() - began_ns_) / 1e9;
  return out;
}

}  // namespace berth::app
