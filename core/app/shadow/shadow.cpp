// SPDX-License-Identifier: Apache-2.0
#include "app/shadow/shadow.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

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
    const std::uint64_t queued = leaves_queue(old_pod);
    if (is_synced_) {
      if (scheduler_.views().framework.find(old_pod->scheduler_name) != nullptr)
        guarded("compare", [&] { compare(old_pod, new_pod, queued); });
      note({now_ns(), new_pod, nullptr, true, k_no_symbol, queued});
    }
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
  note({now_ns(), pod, nullptr, true});
  if (scheduler_.views().framework.find(pod->scheduler_name) == nullptr) return;
  const Lock lock(mutex_);
  ++report_.not_seen_before;
}

void Shadow::see_nomination(const model::PodPtr& pod, Symbol node, bool came) {
  if (is_synced_ && node != k_no_symbol) note({now_ns(), pod, nullptr, came, node});
}

void Shadow::see_waiting(const model::PodPtr& pod) {
  if (pod->node_name != k_no_symbol) return;
  const bool has_place = queued_.size() < k_queued_max;
  if (has_place) queued_[pod->uid.text()] = ++last_queued_;
  count_queued(!has_place);
}

void Shadow::count_queued(bool is_left_out) {
  const Lock lock(mutex_);
  report_.queued = queued_.size();
  report_.queued_left_out += is_left_out;
}

std::uint64_t Shadow::leaves_queue(const model::PodPtr& pod) {
  const auto place = queued_.extract(pod->uid.text());
  if (!place) return 0;
  count_queued(false);
  return place.mapped();
}

void Shadow::see_gone(const model::PodPtr& pod) {
  leaves_queue(pod);
  if (pod->node_name == k_no_symbol) see_nomination(pod, pod->nominated_node, false);
  if (pod->node_name != k_no_symbol) note({now_ns(), pod, nullptr, false});
}

void Shadow::node_added(const model::NodePtr& node) {
  settle_due();
  if (is_synced_) note({now_ns(), nullptr, node, true});
  sink_.node_added(node);
}

void Shadow::node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) {
  settle_due();
  if (!model::node_update_events(*old_node, *new_node).empty()) note({now_ns(), nullptr, new_node, true});
  sink_.node_updated(old_node, new_node);
}

void Shadow::node_deleted(const model::NodePtr& node) {
  settle_due();
  note({now_ns(), nullptr, node, false});
  sink_.node_deleted(node);
}

std::int64_t Shadow::now_ns() const { return clock_.monotonic_ns() - explained_ns_; }

void Shadow::note(Change change) {
  while (!changes_.empty() &&
         (changes_.size() >= k_changes_max || changes_.front().at_ns < change.at_ns - 2 * k_window_ns))
    changes_.pop_front();
  changes_.push_back(std::move(change));
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

void Shadow::compare(const model::PodPtr& pod, const model::PodPtr& bound, std::uint64_t queued) {
  Held held;
  const std::int64_t begin_ns = clock_.monotonic_ns();
  held.at_ns = now_ns();
  held.queued = queued;
  held.pod = pod;
  held.bound = bound;
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
  const Lock lock(mutex_);
  report_.waiting = held_.size();
}

Shadow::Judgement Shadow::judge(const model::PodPtr& pod, const std::string& node, cycle::ExplainWith with,
                                const std::vector<std::string>& left_out) {
  Judgement out;
  const cycle::Explanation explanation = scheduler_.explain(pod, with);
  const cycle::NodeExplanation* found = explanation.pod_rejection ? &*explanation.pod_rejection : nullptr;
  const cycle::NodeExplanation* best = nullptr;
  const auto is_left_out = [&](const cycle::NodeExplanation& each) {
    return std::find(left_out.begin(), left_out.end(), each.node) != left_out.end();
  };
  for (const cycle::NodeExplanation& each : explanation.nodes) {
    if (each.node == node) found = &each;
    if (each.code != framework::Code::success || is_left_out(each)) continue;
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
  const std::int64_t of_this =
      found->code == framework::Code::success ? found->total : std::numeric_limits<std::int64_t>::min();
  for (const cycle::NodeExplanation& each : explanation.nodes)
    if (each.code == framework::Code::success && each.total > of_this && !is_left_out(each))
      out.better.push_back(each.node);
  if (best != nullptr && !out.better.empty())
    std::iter_swap(out.better.begin(), std::find(out.better.begin(), out.better.end(), best->node));
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
  if (held_.empty() || held_.front().at_ns > due_ns) return;
  settle_until(due_ns, clock_.monotonic_ns() + k_settling_ns);
}

void Shadow::finish(std::int64_t limit_ns) {
  settle_until(std::numeric_limits<std::int64_t>::max(), clock_.monotonic_ns() + limit_ns);
}

void Shadow::settle_until(std::int64_t due_ns, std::int64_t end_ns) {
  while (!held_.empty() && held_.front().at_ns <= due_ns && clock_.monotonic_ns() < end_ns) settle_first();
  const Lock lock(mutex_);
  report_.waiting = held_.size();
}

void Shadow::settle_first() {
  Held held = std::move(held_.front());
  held_.pop_front();
  guarded("explain", [&] { settle(held); });
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

std::string Shadow::likely_cause(Held& held) {
  // What speaks for the node: pods that went there were not there yet, those that went elsewhere were.
  const auto on_it = [&](const Change& change) {
    return change.came == (change.pod->node_name == held.bound->node_name);
  };
  const auto all_earlier = [](const Change&) { return true; };
  const auto all_later = [&](const Change& change) { return change.at_ns >= held.at_ns || on_it(change); };
  const auto as_it_was = [&](const Change& change) { return change.at_ns >= held.at_ns; };
  const auto in_queue_order = [&](const Change& change) { return is_after_in_queue(held, change, held.at_ns); };
  const auto follow = [&](const auto& undone) { return was_best_step_by_step(held, Reach::all_better, undone); };
  if (was_best(held, in_queue_order)) return "the best with the pods that were before it in the queue";
  if (was_best(held, on_it) || was_best(held, all_later) || was_best(held, all_earlier) || follow(as_it_was) ||
      follow(in_queue_order) || follow(on_it) || follow(all_later) ||
      was_best_step_by_step(held, Reach::best, as_it_was))
    return fmt::format("the best with other pods of the {} s before and after", k_window_ns / 1'000'000'000);
  return {};
}

std::string Shadow::rare_cause(Held& held) {
  if (const std::optional<std::int64_t> moment_ns = best_moment_ns(held); moment_ns) {
    const double off_s = static_cast<double>(*moment_ns - held.at_ns) / 1e9;
    return fmt::format("the best as it was {:.1f} s {}", std::abs(off_s), off_s < 0 ? "before" : "after");
  }
  if (const std::optional<std::int64_t> end_ns = best_end_ns(held); end_ns)
    return fmt::format("the best with the pods that ended in the {:.1f} s before",
                       static_cast<double>(held.at_ns - *end_ns) / 1e9);
  if (was_best_with_others_alike(held))
    return fmt::format("the best with other pods of its labels of the {} s before and after",
                       k_window_ns / 1'000'000'000);
  return {};
}

bool Shadow::is_race(Held& held) {
  // Nominations are as they are now; the other scheduler had those of its own memory.
  const bool has_nominations = !scheduler_.views().queue.nominations().empty();
  for (const auto cause : {&Shadow::likely_cause, &Shadow::rare_cause}) {
    for (const bool counts_nominated : {true, false}) {
      if (!counts_nominated && !has_nominations) continue;
      held.counts_nominated = counts_nominated;
      const std::string how = (this->*cause)(held);
      if (how.empty()) continue;
      held.difference.result = ShadowResult::race;
      held.difference.why = how + (counts_nominated ? "" : ", without nominated pods");
      return true;
    }
  }
  return false;
}

std::optional<std::int64_t> Shadow::best_moment_ns(Held& held) {
  std::vector<std::int64_t> moments_ns;
  for (const Change& change : changes_)
    if (change.pod != nullptr && change.nominated_to == k_no_symbol &&
        std::abs(change.at_ns - held.at_ns) <= k_window_ns)
      moments_ns.push_back(change.at_ns + 1);  // right after it
  std::sort(moments_ns.begin(), moments_ns.end());
  moments_ns.erase(std::unique(moments_ns.begin(), moments_ns.end()), moments_ns.end());
  const auto is_nearer = [&](std::int64_t a, std::int64_t b) {
    return std::abs(a - held.at_ns) < std::abs(b - held.at_ns);
  };
  std::stable_sort(moments_ns.begin(), moments_ns.end(), is_nearer);
  if (moments_ns.size() > k_moments_max) moments_ns.resize(k_moments_max);
  for (const std::int64_t moment_ns : moments_ns) {
    const auto is_later = [&](const Change& change) { return change.at_ns >= moment_ns; };
    const auto was_so_far = [&](const Change& change) { return change.at_ns >= held.at_ns; };
    if (was_best(held, is_later) ||
        was_best(held, [&](const Change& change) { return change.came ? is_later(change) : was_so_far(change); }) ||
        was_best(held, [&](const Change& change) { return change.came ? was_so_far(change) : is_later(change); }))
      return moment_ns;
  }
  return std::nullopt;
}

bool Shadow::is_after_in_queue(const Held& held, const Change& change, std::int64_t end_ns) {
  if (!change.came) return change.at_ns >= end_ns;
  // What is bound much later may have been tried before in vain.
  if (held.queued == 0 || change.queued == 0 || std::abs(change.at_ns - held.at_ns) > k_binding_ns)
    return change.at_ns >= held.at_ns;
  if (change.pod->priority != held.pod->priority) return change.pod->priority < held.pod->priority;
  return change.queued > held.queued;
}

std::optional<std::int64_t> Shadow::best_end_ns(Held& held) {
  // What ended after the binding cannot have been known to have ended.
  std::int64_t end_ns = held.at_ns;
  const auto in_queue_order = [&](const Change& change) { return is_after_in_queue(held, change, end_ns); };
  const auto as_bound = [&](const Change& change) { return change.at_ns >= (change.came ? held.at_ns : end_ns); };
  std::int64_t nearest_ns = held.at_ns, least = points_to_best(held, in_queue_order);
  std::size_t ends = 0;
  for (auto change = changes_.rbegin(); change != changes_.rend() && ends < k_ends_max && has_time(held); ++change) {
    if (change->pod == nullptr || change->came || change->nominated_to != k_no_symbol || change->at_ns >= held.at_ns)
      continue;
    if (change->at_ns < held.at_ns - k_window_ns) break;
    ++ends;
    end_ns = change->at_ns;
    const std::int64_t points = points_to_best(held, in_queue_order);
    if (points == 0 || was_best(held, as_bound)) return end_ns;
    if (points < least) {
      least = points;
      nearest_ns = end_ns;
    }
  }
  // Some were tried before, and have another place in the queue than that of their coming.
  end_ns = nearest_ns;
  if (was_best_step_by_step(held, Reach::all_better, in_queue_order)) return end_ns;
  return std::nullopt;
}

/// The cluster's changes wait meanwhile.
bool Shadow::has_time(Held& held) const {
  held.is_cut_short = held.is_cut_short || clock_.monotonic_ns() >= held.explain_until_ns;
  return !held.is_cut_short;
}

std::int64_t Shadow::points_to_best(Held& held, const std::function<bool(const Change& change)>& undone) {
  if (!has_time(held)) return k_not_among_the_best;
  const Judgement judgement = judge_without(held, undone);
  return judgement.fits ? judgement.best - judgement.score : k_not_among_the_best;
}

bool Shadow::was_best(Held& held, const std::function<bool(const Change& change)>& undone) {
  return points_to_best(held, undone) == 0;
}

bool Shadow::was_best_step_by_step(Held& held, Reach reach, const std::function<bool(const Change& change)>& undone) {
  std::vector<const Change*> otherwise;  // than at the beginning
  std::vector<std::string> left_out;
  const auto is_undone = [&](const Change& change) {
    return undone(change) != (std::find(otherwise.begin(), otherwise.end(), &change) != otherwise.end());
  };
  // What makes that node less good, or the chosen one better.
  const auto find_step = [&](Symbol node, bool is_chosen) {
    const Change* nearest = nullptr;
    for (const Change& change : changes_) {
      if (change.pod == nullptr || change.nominated_to != k_no_symbol || change.pod->node_name != node ||
          change.pod->uid == held.pod->uid)
        continue;
      const std::int64_t off_ns = std::abs(change.at_ns - held.at_ns);
      const bool is_there = change.came != is_undone(change);
      if (off_ns > k_window_ns || is_there != is_chosen) continue;
      if (nearest == nullptr || off_ns < std::abs(nearest->at_ns - held.at_ns)) nearest = &change;
    }
    return nearest;
  };
  for (std::size_t steps = 0; steps < k_steps_max && has_time(held); ++steps) {
    const Judgement judgement = judge_without(held, is_undone, left_out);
    if (judgement.fits && judgement.score == judgement.best) return true;
    const auto taken = [&] { return otherwise.size() + left_out.size(); };
    const std::size_t before = taken();
    for (const std::string& node : judgement.better) {
      const Symbol symbol = scheduler_.views().symbols.find(node);
      if (const Change* step = find_step(symbol, false))
        otherwise.push_back(step);
      else if (had_nomination(held, symbol))
        left_out.push_back(node);  // a nominated pod may have taken its room
      if (reach == Reach::best) break;
    }
    if (taken() == before)
      if (const Change* step = find_step(held.bound->node_name, true)) otherwise.push_back(step);
    if (taken() != before) continue;
    observe::V(2).info("No cause is found for what stays better",
                       {{"pod", *held.pod},
                        {"node", held.difference.node},
                        {"score", judgement.score},
                        {"better", fmt::format("{}", fmt::join(judgement.better, ","))},
                        {"best", judgement.best}});
    return false;
  }
  return false;
}

bool Shadow::was_best_with_others_alike(Held& held) {
  const auto is_alike = [&](const model::Pod& pod) {
    return std::any_of(pod.labels->begin(), pod.labels->end(), [&](const model::Label& label) {
      return std::find(held.pod->labels->begin(), held.pod->labels->end(), label) != held.pod->labels->end();
    });
  };
  const auto off_ns = [&](const Change* change) { return std::abs(change->at_ns - held.at_ns); };
  std::vector<const Change*> candidates, otherwise;
  for (const Change& change : changes_)
    if (change.pod != nullptr && change.nominated_to == k_no_symbol && off_ns(&change) <= k_window_ns &&
        change.pod->uid != held.pod->uid && (change.pod->node_name == held.bound->node_name || is_alike(*change.pod)))
      candidates.push_back(&change);
  std::stable_sort(candidates.begin(), candidates.end(), [&](auto* a, auto* b) { return off_ns(a) < off_ns(b); });
  if (candidates.size() > k_alike_max) candidates.resize(k_alike_max);
  const auto is_undone = [&](const Change& change) {
    return (change.at_ns >= held.at_ns) != (std::find(otherwise.begin(), otherwise.end(), &change) != otherwise.end());
  };
  const auto gap = [&] { return points_to_best(held, is_undone); };
  for (std::int64_t least = gap(); least > 0;) {
    const Change* nearer = nullptr;
    for (const Change* candidate : candidates) {
      if (!has_time(held)) return false;
      if (std::find(otherwise.begin(), otherwise.end(), candidate) != otherwise.end()) continue;
      otherwise.push_back(candidate);
      if (const std::int64_t with_it = gap(); with_it < least) {
        least = with_it;
        nearer = candidate;
      }
      otherwise.pop_back();
    }
    if (nearer == nullptr) return false;
    otherwise.push_back(nearer);
  }
  return true;
}

bool Shadow::had_nomination(const Held& held, Symbol node) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return change.nominated_to == node && node != k_no_symbol && change.pod->uid != held.pod->uid &&
           std::abs(change.at_ns - held.at_ns) <= k_window_ns;
  });
}

/// The cluster as it would be without some of the changes. From one question to the next only those pods are moved that
/// are there for the one and not for the other; at its end, also when what is asked throws, all is as it was.
class Shadow::Rewound {
 public:
  Rewound(const std::deque<Change>& changes, cache::ClusterCache& cache, const Held& held)
      : changes_(changes), cache_(cache), held_(held) {}
  Rewound(const Rewound&) = delete;
  Rewound& operator=(const Rewound&) = delete;
  ~Rewound() {
    for (auto& [uid, pod] : pods_) move(pod, pod.is_there_now);
  }

  void rewind(const std::function<bool(const Change& change)>& undone) {
    for (auto& [uid, pod] : pods_) pod.is_wanted = pod.is_there_now;
    // Back in time: what came goes, and what went comes back.
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      if (change->pod == nullptr || change->nominated_to != k_no_symbol || change->at_ns < held_.at_ns - k_window_ns)
        continue;
      const bool is_it = change->pod->uid == held_.pod->uid;
      if (is_it ? !change->came : !undone(*change)) continue;
      Moved& pod = moved(change->pod);
      if (pod.is_wanted == change->came) pod.is_wanted = !change->came;  // else it has come or gone once more
    }
    for (auto& [uid, pod] : pods_) move(pod, pod.is_wanted);
  }

 private:
  struct Moved {
    model::PodPtr pod;
    bool is_there_now = false, is_there = false, is_wanted = false;
  };
  Moved& moved(const model::PodPtr& pod) {
    const auto [at, is_new] = pods_.try_emplace(pod->uid.text());
    if (!is_new) return at->second;
    const std::optional<cache::CachedPod> cached = cache_.find_pod(pod->uid);
    at->second = {cached ? cached->pod : pod, cached.has_value(), cached.has_value(), cached.has_value()};
    return at->second;
  }
  void move(Moved& pod, bool is_wanted) {
    if (pod.is_there == is_wanted) return;
    const Status done = is_wanted ? cache_.add_pod(pod.pod) : cache_.remove_pod(*pod.pod);
    if (done.ok())
      pod.is_there = is_wanted;
    else
      observe::error("The shadow's cluster is not what it was", {{"err", done.error().message}, {"pod", *pod.pod}});
  }

  const std::deque<Change>& changes_;
  cache::ClusterCache& cache_;
  const Held& held_;
  std::unordered_map<std::string, Moved> pods_;  // by uid
};

Shadow::Judgement Shadow::judge_without(const Held& held, const std::function<bool(const Change& change)>& undone,
                                        const std::vector<std::string>& left_out) {
  held.rewound->rewind(undone);
  return judge(held.pod, held.difference.node, {.nominated = held.counts_nominated, .scores = false}, left_out);
}

void Shadow::settle(Held& held) {
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::int64_t left_ns = k_explaining_ahead_ns + (now_ns - began_ns_) / 2 - explained_ns_;
  held.explain_until_ns = now_ns + std::min(k_explaining_ns, left_ns);
  Rewound rewound(changes_, scheduler_.intake().cache, held);
  held.rewound = &rewound;
  const auto has_changed = [&](const Change& change) {
    return change.node != nullptr && change.at_ns >= held.at_ns - k_window_ns &&
           (change.node->name == held.difference.node || change.node->name == held.difference.node_here);
  };
  if (held.difference.result == ShadowResult::race) {
    held.difference.why = "the node was not known here yet";
  } else if (const auto node = std::find_if(changes_.begin(), changes_.end(), has_changed); node != changes_.end()) {
    held.difference.result = ShadowResult::race;
    held.difference.why = fmt::format("node {} changed", node->node->name);
  } else if (!is_race(held) && held.is_cut_short) {
    held.difference.why += " (the search for a cause was cut short)";
  }
  explained_ns_ += clock_.monotonic_ns() - now_ns;
  count(std::move(held.difference));
}

ShadowReport Shadow::report() const {
  const Lock lock(mutex_);
  ShadowReport out = report_;
  out.seconds = static_cast<double>(clock_.monotonic_ns() - began_ns_) / 1e9;
  return out;
}

}  // namespace berth::app
