// SPDX-License-Identifier: Apache-2.0
#include "cycle/explainer.hpp"

#include <algorithm>
#include <limits>

#include "base/bitmap.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "framework/plugin_call.hpp"
#include "framework/points/pre_filter.hpp"

namespace berth::cycle {

using framework::Code;

namespace {
constexpr std::size_t k_no_place = static_cast<std::size_t>(-1);
}

Explanation Explainer::explain(const model::PodPtr& pod, ExplainWith with) {
  Explanation explanation;
  const std::size_t profile = cycle_.framework_.index_of(pod->scheduler_name);
  if (profile == std::string::npos) {
    explanation.error = fmt::format("profile not found for scheduler name \"{}\"", pod->scheduler_name);
    return explanation;
  }
  cycle_.cache_.refresh(cycle_.snapshot_, cache::Look::question);
  const observe::PodBreadcrumb breadcrumb(pod->ns, pod->name);
  auto context = cycle_.framework_.pool(profile).take();
  context->begin(pod, 0, ++cycle_.cycle_id_, &cycle_.snapshot_);
  cycle_.candidates_.begin(cycle_.snapshot_);
  const framework::PreFilterResult prepared =
      framework::run_pre_filter(*context, cycle_.candidates_, cycle_.candidate_memory_);
  if (!prepared.verdict.success()) {
    explanation.pod_rejection =
        NodeExplanation{"*", prepared.verdict.code,
                        std::string(cycle_.framework_.names().name(prepared.verdict.plugin)), prepared.verdict.reasons};
    return explanation;
  }
  Diagnosis diagnosis;
  std::vector<framework::NodeVerdict> verdicts;
  std::vector<framework::NodeDetail> details;
  const Nominated nominated = with.nominated ? cycle_.nominated_to_others(*pod, nullptr) : Nominated();
  cycle_.filter_pass_.diagnose(*context, cycle_.candidates_.bits(), nominated, diagnosis, &verdicts,
                               with.details ? &details : nullptr);
  std::vector<cache::Slot> feasible;
  explanation.nodes.reserve(cycle_.candidates_.count());
  std::vector<std::size_t> place_of(cycle_.snapshot_.slot_count(), k_no_place);
  for (const cache::Slot slot : cycle_.snapshot_.order()) {
    if (!cycle_.candidates_.contains(slot)) continue;
    NodeExplanation node;
    node.node = cycle_.snapshot_.row(slot).node->name;
    node.code = verdicts[slot].code;
    if (node.code != Code::success) {
      node.plugin = verdicts[slot].plugin->name();
      node.reasons = framework::sentences(*verdicts[slot].plugin, verdicts[slot].reason);
    } else {
      feasible.push_back(slot);
    }
    place_of[slot] = explanation.nodes.size();
    explanation.nodes.push_back(std::move(node));
  }
  for (framework::NodeDetail& detail : details)
    if (place_of[detail.slot] != k_no_place && verdicts[detail.slot].plugin == detail.plugin)
      explanation.nodes[place_of[detail.slot]].details.push_back({std::move(detail.text), detail.count});
  cycle_.extender_pass_.begin();
  explain_extenders(*pod, explanation, feasible, place_of);
  const auto row = [&](std::size_t i) -> NodeExplanation& { return explanation.nodes[place_of[feasible[i]]]; };
  if (feasible.empty() || !explanation.error.empty()) return explanation;
  if (const Status pre_scored = framework::run_pre_score(*context, feasible); !pre_scored.ok()) {
    explanation.error = pre_scored.error().message;
    return explanation;
  }
  if (with.scores)
    for (std::size_t i = 0; i < feasible.size(); ++i) row(i).scores.reserve(context->profile().score.size());
  ScorePass::Each keep;
  if (with.scores)
    keep = [&](const framework::Scorer& scorer, std::span<const std::int64_t> scores) {
      explanation.scorers.emplace_back(scorer.plugin->name());
      for (std::size_t i = 0; i < scores.size(); ++i) row(i).scores.push_back(scorer.weight * scores[i]);
    };
  const Status scored = cycle_.score_pass_.run(*context, feasible, false, keep);
  for (std::size_t i = 0; i < feasible.size(); ++i) row(i).total = cycle_.score_pass_.sums()[feasible[i]];
  for (const framework::AbsentRuntime& absent : context->profile().absent) {
    if (!with.scores || !absent.scores_zero) continue;
    explanation.scorers.push_back(absent.name);
    for (std::size_t i = 0; i < feasible.size(); ++i) row(i).scores.push_back(0);
  }
  if (!scored.ok()) explanation.error = scored.error().message;
  if (!scored.ok() || !cycle_.extender_pass_.judges(*pod)) return explanation;
  cycle_.totals_.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i) cycle_.totals_[i] = row(i).total;
  if (const auto ranks = cycle_.extender_pass_.ranks(*pod, feasible, cycle_.totals_); !ranks.ok()) {
    explanation.error = ranks.error().message;
    return explanation;
  }
  for (std::size_t i = 0; i < feasible.size(); ++i) row(i).total = cycle_.totals_[i];
  for (const extender::Extenders::Score& score : cycle_.extender_pass_.scores()) {
    explanation.scorers.emplace_back(score.by->name());
    for (std::size_t i = 0; i < feasible.size(); ++i) row(i).scores.push_back(score.added[i]);
  }
  return explanation;
}

Standing Explainer::stand(const model::PodPtr& pod, cache::Slot node, const StandingWith& with) {
  Standing out;
  const std::size_t profile = cycle_.framework_.index_of(pod->scheduler_name);
  if (profile == std::string::npos) return out;
  cycle_.cache_.refresh(cycle_.snapshot_, cache::Look::question);
  const observe::PodBreadcrumb breadcrumb(pod->ns, pod->name);
  auto context = cycle_.framework_.pool(profile).take();
  context->begin(pod, 0, ++cycle_.cycle_id_, &cycle_.snapshot_);
  cycle_.candidates_.begin(cycle_.snapshot_);
  const framework::PreFilterResult prepared =
      framework::run_pre_filter(*context, cycle_.candidates_, cycle_.candidate_memory_);
  if (!prepared.verdict.success()) return out;
  FilterFindings found;
  const Nominated nominated = with.nominated ? cycle_.nominated_to_others(*pod, nullptr) : Nominated();
  cycle_.filter_pass_.run(*context, cycle_.candidates_, nominated, std::numeric_limits<std::int64_t>::max(), 0, found);
  std::vector<cache::Slot>& feasible = found.feasible;
  cycle_.extender_pass_.begin();
  if (!found.error.empty() || !cycle_.extender_pass_.filter(*pod, feasible).ok() || feasible.empty() ||
      !framework::run_pre_score(*context, feasible).ok() || !cycle_.score_pass_.run(*context, feasible, false, {}).ok())
    return out;
  std::vector<std::int64_t>& totals = cycle_.totals_;
  totals.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i) totals[i] = cycle_.score_pass_.sums()[feasible[i]];
  if (cycle_.extender_pass_.judges(*pod) && !cycle_.extender_pass_.ranks(*pod, feasible, totals).ok()) return out;
  const auto at = std::find(feasible.begin(), feasible.end(), node);
  out.fits = at != feasible.end();
  if (out.fits) out.score = totals[static_cast<std::size_t>(at - feasible.begin())];
  std::size_t best_at = 0;
  bool has_best = false;
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    if (std::find(with.left_out.begin(), with.left_out.end(), feasible[i]) != with.left_out.end()) continue;
    const bool is_best = !has_best || totals[i] > out.best;
    if (is_best) out.best = totals[i];
    has_best = true;
    if (out.fits && totals[i] <= out.score) continue;
    if (is_best) best_at = out.better.size();
    out.better.push_back(feasible[i]);
  }
  if (!out.better.empty()) std::swap(out.better.front(), out.better[best_at]);
  return out;
}

void Explainer::explain_extenders(const model::Pod& pod, Explanation& explanation, std::vector<cache::Slot>& feasible,
                                  std::vector<std::size_t>& place_of) {
  const std::vector<cache::Slot> passed = feasible;
  const Status filtered = cycle_.extender_pass_.filter(pod, feasible);
  if (!filtered.ok()) explanation.error = filtered.error().message;
  std::vector<std::uint64_t> left(cycle_.snapshot_.word_count());
  for (const cache::Slot slot : feasible) {
    bitmap::set(left.data(), slot);
    if (place_of[slot] == k_no_place) {
      place_of[slot] = explanation.nodes.size();
      explanation.nodes.emplace_back().node = cycle_.snapshot_.row(slot).node->name;
    }
    NodeExplanation& node = explanation.nodes[place_of[slot]];
    node.code = Code::success;  // whatever a plugin said about it
    node.plugin.clear();
    node.reasons.clear();
    node.details.clear();
  }
  for (const cache::Slot slot : passed) {
    if (bitmap::test(left.data(), slot)) continue;
    NodeExplanation& node = explanation.nodes[place_of[slot]];
    const extender::Extenders::NodeRejection* const rejected = cycle_.extender_pass_.said_about(slot);
    node.code = rejected != nullptr ? rejected->code : Code::unresolvable;
    node.plugin = rejected != nullptr ? rejected->by->name() : extender::k_extender_rejector;
    node.reasons = {rejected != nullptr ? rejected->why : "left out of an extender's answer"};
  }
}

}  // namespace berth::cycle
