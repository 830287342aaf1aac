// SPDX-License-Identifier: Apache-2.0
#include "app/shadow/cause_search.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "observe/log.hpp"

namespace berth::app {
namespace {

RewoundCluster::SlotOf slot_of(scheduler::Scheduler& scheduler) {
  return [&scheduler](Symbol node) {
    cache::Slot slot = cache::k_no_slot;
    scheduler.inspect([&](const cache::Snapshot& snapshot) { slot = snapshot.find(node); });
    return slot;
  };
}

std::string with_others(std::string_view which) {
  return fmt::format("the best with other pods {}of the {} s before and after", which,
                     k_shadow_window_ns / 1'000'000'000);
}

}  // namespace

CauseSearch::CauseSearch(scheduler::Scheduler& scheduler, const Clock& clock, const std::deque<ClusterChange>& changes,
                         const ForeignDecision& decision)
    : scheduler_(scheduler),
      clock_(clock),
      decision_(decision),
      node_(slot_of(scheduler)(decision.bound->node_name)),
      rewound_(changes, scheduler.intake().cache, decision, slot_of(scheduler)) {
  const auto near = rewound_.near();
  for (std::size_t i = 0; i < near.size(); ++i) near_on_[near[i].node].push_back(i);
  for (auto& [node, on_it] : near_on_)
    std::stable_sort(on_it.begin(), on_it.end(), [&](auto a, auto b) { return near[a].off_ns < near[b].off_ns; });
  for (const ClusterChange& change : changes)
    if (change.nominated_to != k_no_symbol && change.pod->uid != decision.pod->uid &&
        std::abs(change.at_ns - decision.at_ns) <= k_shadow_window_ns)
      nominated_.push_back(slot_of(scheduler)(change.nominated_to));
}

std::string CauseSearch::find(std::int64_t end_ns, std::size_t& tried_in_vain) {
  static constexpr std::array<Cause, 3> k_likely{&CauseSearch::before_in_queue, &CauseSearch::with_others_at_once,
                                                 &CauseSearch::with_others_step_by_step};
  static constexpr std::array<Cause, 6> k_rare{&CauseSearch::at_a_moment,
                                               &CauseSearch::before_an_end,
                                               &CauseSearch::with_others_alike,
                                               &CauseSearch::with_affine_others,
                                               &CauseSearch::with_others_of_its_domain,
                                               &CauseSearch::with_any_others};
  end_ns_ = end_ns;
  is_cut_short_ = false;
  // Nominations are as they are now; the other scheduler had those of its own memory.
  const bool has_nominations = !scheduler_.views().queue.nominations().empty();
  std::size_t cause_number = 0;
  std::string how;
  const auto is_over = [&](Cause cause, bool counts_nominated) {
    if (++cause_number <= tried_in_vain) return false;
    if (counts_nominated || has_nominations) {
      counts_nominated_ = counts_nominated;
      how = (this->*cause)();
      if (!how.empty() && !counts_nominated) how += ", without nominated pods";
      if (!how.empty() || is_cut_short_) return true;
    }
    tried_in_vain = cause_number;
    return false;
  };
  for (const bool counts_nominated : {true, false})
    for (const Cause cause : k_likely)
      if (is_over(cause, counts_nominated)) return how;
  for (const bool counts_nominated : {true, false})
    for (const Cause cause : k_rare)
      if (is_over(cause, counts_nominated)) return how;
  return {};
}

std::string CauseSearch::before_in_queue() {
  return was_best(in_queue_order(decision_.at_ns)) || was_best(in_queue_order(decision_.at_ns, false))
             ? "the best with the pods that were before it in the queue"
             : "";
}

std::string CauseSearch::with_others_at_once() {
  const auto all_earlier = [](const ClusterChange&) { return true; };
  return was_best(without_those_on_it()) || was_best(all_later()) || was_best(where(all_earlier)) ? with_others("")
                                                                                                  : "";
}

std::string CauseSearch::with_others_step_by_step() {
  const auto follow = [&](Undone undone) { return was_best_step_by_step(Reach::all_better, std::move(undone)); };
  return follow(as_it_was()) || follow(in_queue_order(decision_.at_ns)) || follow(without_those_on_it()) ||
                 follow(all_later()) || was_best_step_by_step(Reach::best, as_it_was())
             ? with_others("")
             : "";
}

std::string CauseSearch::at_a_moment() {
  const std::optional<std::int64_t> moment_ns = best_moment_ns();
  if (!moment_ns) return {};
  const double off_s = static_cast<double>(*moment_ns - decision_.at_ns) / 1e9;
  return fmt::format("the best as it was {:.1f} s {}", std::abs(off_s), off_s < 0 ? "before" : "after");
}

std::string CauseSearch::before_an_end() {
  const std::optional<std::int64_t> end_ns = best_end_ns();
  return end_ns ? fmt::format("the best with the pods that ended in the {:.1f} s before",
                              static_cast<double>(decision_.at_ns - *end_ns) / 1e9)
                : "";
}

/// Where zones have almost as many pods each, one more or less makes another one the best, with all points of affinity or
/// spread: no single node shows it.
std::string CauseSearch::with_others_of_its_domain() {
  model::NodePtr chosen;
  scheduler_.inspect([&](const cache::Snapshot& snapshot) {
    if (node_ != cache::k_no_slot) chosen = snapshot.row(node_).node;
  });
  if (chosen == nullptr) return {};
  std::size_t keys = 0;
  for (const model::Label& label : chosen->labels) {
    const std::vector<char> inside = inside_domain(label);
    if (inside.empty()) continue;
    if (++keys > k_domain_keys_max) break;
    for (const std::int64_t window_ns : k_domain_windows_ns) {
      Undone undone = as_it_was();
      const auto near = rewound_.near();
      for (std::size_t i = 0; i < near.size(); ++i)
        if (near[i].off_ns <= window_ns) undone[i] = near[i].change->came != (inside[i] != 0) ? 1 : 0;
      if (was_best(undone) || was_best_step_by_step(Reach::all_better, undone))
        return fmt::format("the best with other pods in and outside its domain of {} of the {} s before and after",
                           scheduler_.views().symbols.text(label.key), static_cast<double>(window_ns) / 1e9);
      if (is_cut_short_) return {};
    }
  }
  return {};
}

std::vector<char> CauseSearch::inside_domain(const model::Label& label) {
  const auto near = rewound_.near();
  std::vector<char> inside(near.size());
  bool has_other_nodes = false, has_outside = false;
  scheduler_.inspect([&](const cache::Snapshot& snapshot) {
    const auto is_inside = [&](cache::Slot slot) {
      const model::Node* const node = slot == cache::k_no_slot ? nullptr : snapshot.row(slot).node.get();
      return node != nullptr && std::find(node->labels.begin(), node->labels.end(), label) != node->labels.end();
    };
    for (cache::Slot slot = 0; slot < snapshot.slot_count() && !has_other_nodes; ++slot)
      has_other_nodes = slot != node_ && is_inside(slot);
    for (std::size_t i = 0; i < near.size(); ++i) {
      inside[i] = is_inside(near[i].node) ? 1 : 0;
      has_outside = has_outside || inside[i] == 0;
    }
  });
  return has_other_nodes && has_outside ? inside : std::vector<char>();
}

std::string CauseSearch::with_others_alike() {
  const auto& labels = decision_.pod->labels;
  const auto is_alike = [&](const ClusterChange& change) {
    return change.pod->node_name == decision_.bound->node_name ||
           std::any_of(change.pod->labels->begin(), change.pod->labels->end(), [&](const model::Label& label) {
             return std::find(labels->begin(), labels->end(), label) != labels->end();
           });
  };
  return was_best_with_others(k_alike_max, k_sideways_max, is_alike) ? with_others("of its labels ") : "";
}

std::string CauseSearch::with_affine_others() {
  const auto is_affine = [](const ClusterChange& change) { return change.pod->spec->affinity.present; };
  return was_best_with_others(k_affine_max, k_sideways_max, is_affine) ? with_others("that have affinity ") : "";
}

std::string CauseSearch::with_any_others() {
  const auto is_any = [](const ClusterChange&) { return true; };
  return was_best_with_others(k_any_max, 0, is_any) ? with_others("") : "";
}

template <typename Condition>
CauseSearch::Undone CauseSearch::where(Condition&& condition) const {
  const auto near = rewound_.near();
  Undone out(near.size());
  for (std::size_t i = 0; i < near.size(); ++i) out[i] = condition(*near[i].change) ? 1 : 0;
  return out;
}

CauseSearch::Undone CauseSearch::as_it_was() const {
  return where([&](const ClusterChange& change) { return change.at_ns >= decision_.at_ns; });
}

/// What speaks for the node: pods that went there were not there yet, those that went elsewhere were.
CauseSearch::Undone CauseSearch::without_those_on_it() const {
  return where([&](const ClusterChange& change) {
    return change.came == (change.pod->node_name == decision_.bound->node_name);
  });
}

CauseSearch::Undone CauseSearch::all_later() const {
  return where([&](const ClusterChange& change) {
    return change.at_ns >= decision_.at_ns || change.came == (change.pod->node_name == decision_.bound->node_name);
  });
}

CauseSearch::Undone CauseSearch::in_queue_order(std::int64_t end_ns, bool counts_priority) const {
  return where([&](const ClusterChange& change) {
    return change.came ? is_after_in_queue(change, counts_priority) : change.at_ns >= end_ns;
  });
}

bool CauseSearch::is_after_in_queue(const ClusterChange& change, bool counts_priority) const {
  const bool was_later = change.at_ns >= decision_.at_ns;
  const QueuePlace own = decision_.place, other = change.place;
  if (own.number == 0 || other.number == 0) return was_later;
  // When that was tried again is not known, except that it was not long before its binding.
  if ((own.was_tried || other.was_tried) && std::abs(change.at_ns - decision_.at_ns) > k_binding_ns) return was_later;
  if (other.number > decision_.last_place) return true;  // it came when this one was bound
  if (own.number > change.last_place) return false;      // and the other way round
  if (counts_priority && change.pod->priority != decision_.pod->priority)
    return change.pod->priority < decision_.pod->priority;
  return other.number > own.number;
}

/// The cluster's changes wait meanwhile.
bool CauseSearch::has_time() {
  is_cut_short_ = is_cut_short_ || clock_.monotonic_ns() >= end_ns_;
  return !is_cut_short_;
}

CauseSearch::Distance CauseSearch::distance(const Undone& undone) {
  if (!has_time()) return {};
  rewound_.rewind(undone);
  const cycle::Standing standing = scheduler_.stand(decision_.pod, node_, {.nominated = counts_nominated_});
  return standing.fits ? Distance{standing.best - standing.score, standing.better.size()} : Distance();
}

std::optional<std::size_t> CauseSearch::nearest_on(cache::Slot node, bool is_there, const Undone& undone) const {
  const auto on_it = near_on_.find(node);
  if (node == cache::k_no_slot || on_it == near_on_.end()) return std::nullopt;
  for (const std::size_t i : on_it->second)
    if ((rewound_.near()[i].change->came != (undone[i] != 0)) == is_there) return i;
  return std::nullopt;
}

bool CauseSearch::was_best_step_by_step(Reach reach, Undone undone) {
  std::vector<cache::Slot> left_out;
  for (std::size_t steps = 0; steps < k_steps_max && has_time(); ++steps) {
    rewound_.rewind(undone);
    const cycle::Standing standing =
        scheduler_.stand(decision_.pod, node_, {.nominated = counts_nominated_, .left_out = left_out});
    if (standing.is_among_best()) return true;
    bool is_taken = false;
    // What makes that node less good, or the chosen one better.
    for (const cache::Slot better : standing.better) {
      if (const auto step = nearest_on(better, false, undone)) {
        undone[*step] ^= 1;
        is_taken = true;
      } else if (had_nomination(better) && std::find(left_out.begin(), left_out.end(), better) == left_out.end()) {
        left_out.push_back(better);  // a nominated pod may have taken its room
        is_taken = true;
      }
      if (reach == Reach::best) break;
    }
    if (!is_taken) {
      if (const auto step = nearest_on(node_, true, undone)) {
        undone[*step] ^= 1;
        is_taken = true;
      }
    }
    if (is_taken) continue;
    observe::V(2).info("No cause is found for what stays better", {{"pod", *decision_.pod},
                                                                   {"score", standing.score},
                                                                   {"best", standing.best},
                                                                   {"better", standing.better.size()}});
    return false;
  }
  return false;
}

bool CauseSearch::was_best_with_others(std::size_t most, std::size_t sideways_max,
                                       const std::function<bool(const ClusterChange& change)>& is_candidate) {
  const auto near = rewound_.near();
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < near.size(); ++i)
    if (is_candidate(*near[i].change)) candidates.push_back(i);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](auto a, auto b) { return near[a].off_ns < near[b].off_ns; });
  if (candidates.size() > most) candidates.resize(most);
  for (Undone undone : {as_it_was(), in_queue_order(decision_.at_ns)}) {
    Distance least = distance(undone);
    if (least.is_none()) return true;
    std::vector<char> was_taken(candidates.size());
    for (std::size_t sideways = 0; sideways <= sideways_max;) {
      std::optional<std::size_t> nearest;
      Distance with_nearest;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (was_taken[i] != 0) continue;
        if (!has_time()) return false;
        undone[candidates[i]] ^= 1;
        const Distance with_it = distance(undone);
        undone[candidates[i]] ^= 1;
        if (with_it.is_none()) return true;
        if (nearest && !(with_it < with_nearest)) continue;
        nearest = i;
        with_nearest = with_it;
      }
      if (!nearest) break;
      undone[candidates[*nearest]] ^= 1;
      was_taken[*nearest] = 1;
      sideways = with_nearest < least ? 0 : sideways + 1;
      least = std::min(least, with_nearest);
    }
  }
  return false;
}

std::optional<std::int64_t> CauseSearch::best_moment_ns() {
  std::vector<std::int64_t> moments_ns;
  for (const Near& near : rewound_.near()) moments_ns.push_back(near.change->at_ns + 1);  // right after it
  moments_ns.erase(std::unique(moments_ns.begin(), moments_ns.end()), moments_ns.end());
  const auto is_nearer = [&](std::int64_t a, std::int64_t b) {
    return std::abs(a - decision_.at_ns) < std::abs(b - decision_.at_ns);
  };
  std::stable_sort(moments_ns.begin(), moments_ns.end(), is_nearer);
  if (moments_ns.size() > k_moments_max) moments_ns.resize(k_moments_max);
  for (const std::int64_t moment_ns : moments_ns) {
    const auto is_later = [&](const ClusterChange& change) { return change.at_ns >= moment_ns; };
    const auto was_so_far = [&](const ClusterChange& change) { return change.at_ns >= decision_.at_ns; };
    if (was_best(where(is_later)) || was_best(where([&](const ClusterChange& change) {
          return change.came ? is_later(change) : was_so_far(change);
        })) ||
        was_best(
            where([&](const ClusterChange& change) { return change.came ? was_so_far(change) : is_later(change); })))
      return moment_ns;
  }
  return std::nullopt;
}

std::optional<std::int64_t> CauseSearch::best_end_ns() {
  // What ended after the binding cannot have been known to have ended.
  const auto as_bound = [&](std::int64_t end_ns) {
    return where([&](const ClusterChange& change) { return change.at_ns >= (change.came ? decision_.at_ns : end_ns); });
  };
  std::int64_t nearest_ns = decision_.at_ns;
  Distance least = distance(in_queue_order(decision_.at_ns));
  std::size_t ends = 0;
  const auto near = rewound_.near();
  for (std::size_t i = near.size(); i-- > 0 && ends < k_ends_max && has_time();) {
    const ClusterChange& change = *near[i].change;
    if (change.came || change.at_ns >= decision_.at_ns) continue;
    ++ends;
    const Distance with_it = distance(in_queue_order(change.at_ns));
    if (with_it.is_none() || was_best(as_bound(change.at_ns))) return change.at_ns;
    if (with_it < least) {
      least = with_it;
      nearest_ns = change.at_ns;
    }
  }
  // Some were tried before, and have another place in the queue than that of their coming.
  if (was_best_step_by_step(Reach::all_better, in_queue_order(nearest_ns))) return nearest_ns;
  return std::nullopt;
}

bool CauseSearch::had_nomination(cache::Slot node) const {
  return node != cache::k_no_slot && std::find(nominated_.begin(), nominated_.end(), node) != nominated_.end();
}

}  // namespace berth::app
