// SPDX-License-Identifier: Apache-2.0
// SchedulingCycle::explain(): every node judged, with words.
#include "base/bitmap.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "framework/plugin_call.hpp"
#include "framework/points/pre_filter.hpp"

namespace berth::cycle {

using framework::Code;

namespace {
constexpr std::size_t k_no_place = static_cast<std::size_t>(-1);
}

Explanation SchedulingCycle::explain(const model::PodPtr& pod, bool with_details) {
  Explanation explanation;
  const std::size_t profile = framework_.index_of(pod->scheduler_name);
  if (profile == std::string::npos) {
    explanation.error = fmt::format("profile not found for scheduler name \"{}\"", pod->scheduler_name);
    return explanation;
  }
  cache_.refresh(snapshot_);
  const observe::PodBreadcrumb breadcrumb(pod->ns, pod->name);
  auto context = framework_.pool(profile).take();
  context->begin(pod, 0, ++cycle_id_, &snapshot_);
  candidates_.assign(snapshot_.nodes(), snapshot_.nodes() + snapshot_.word_count());
  const framework::PreFilterResult prepared =
      framework::run_pre_filter(*context, candidates_.data(), candidates_.size(), pre_filter_scratch_);
  if (!prepared.verdict.success()) {
    explanation.pod_rejection = NodeExplanation{"*",
                                                prepared.verdict.code,
                                                std::string(framework_.names().name(prepared.verdict.plugin)),
                                                prepared.verdict.reasons,
                                                0,
                                                {}};
    return explanation;
  }
  Diagnosis diagnosis;
  std::vector<framework::NodeVerdict> verdicts;
  std::vector<framework::NodeDetail> details;
  filter_pass_.diagnose(*context, candidates_.data(), {}, diagnosis, &verdicts, with_details ? &details : nullptr);
  std::vector<cache::Slot> feasible;
  std::vector<std::size_t> place_of(snapshot_.slot_count(), k_no_place);
  for (const cache::Slot slot : snapshot_.order()) {
    if (!bitmap::test(candidates_.data(), slot)) continue;
    NodeExplanation node;
    node.node = snapshot_.row(slot).node->name;
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
  extender_pass_.begin();
  explain_extenders(*pod, explanation, feasible, place_of);
  const auto row = [&](std::size_t i) -> NodeExplanation& { return explanation.nodes[place_of[feasible[i]]]; };
  if (feasible.empty() || !explanation.error.empty()) return explanation;
  explanation.error = framework::run_pre_score(*context, feasible);
  if (!explanation.error.empty()) return explanation;
  explanation.error = score_pass_.run(*context, feasible, false, [&](const framework::Scorer& scorer, auto scores) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      row(i).scores.emplace_back(scorer.plugin->name(), scorer.weight * scores[i]);
  });
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    row(i).total = score_pass_.sums()[feasible[i]];
    for (const framework::AbsentRuntime& absent : context->profile().absent)
      if (absent.scores_zero) row(i).scores.emplace_back(absent.name, 0);
  }
  if (!explanation.error.empty() || !extender_pass_.judges(*pod)) return explanation;
  totals_.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i) totals_[i] = row(i).total;
  if (const auto ranks = extender_pass_.ranks(*pod, feasible, totals_); !ranks.ok()) {
    explanation.error = ranks.error().message;
    return explanation;
  }
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    row(i).total = totals_[i];
    for (const extender::Extenders::Score& score : extender_pass_.scores())
      row(i).scores.emplace_back(score.by->name(), score.added[i]);
  }
  return explanation;
}

void SchedulingCycle::explain_extenders(const model::Pod& pod, Explanation& explanation,
                                        std::vector<cache::Slot>& feasible, std::vector<std::size_t>& place_of) {
  const std::vector<cache::Slot> passed = feasible;
  explanation.error = extender_pass_.filter(pod, feasible);
  std::vector<std::uint64_t> left(snapshot_.word_count());
  for (const cache::Slot slot : feasible) {
    bitmap::set(left.data(), slot);
    if (place_of[slot] == k_no_place) {
      place_of[slot] = explanation.nodes.size();
      explanation.nodes.emplace_back().node = snapshot_.row(slot).node->name;
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
    const extender::Extenders::NodeRejection* const turned = extender_pass_.said_about(slot);
    node.code = turned != nullptr ? turned->code : Code::unresolvable;
    node.plugin = turned != nullptr ? turned->by->name() : extender::k_extender_rejector;
    node.reasons = {turned != nullptr ? turned->why : "left out of an extender's answer"};
  }
}

bool SchedulingCycle::agrees(const framework::CycleContext& of_class, std::uint32_t feasible, cache::Slot best) {
  // In a context without a class plugins count from the start.
  auto context = framework_.pool(framework_.index_of(of_class.pod()->scheduler_name)).take();
  context->begin(of_class.pod(), 0, ++cycle_id_, &snapshot_);
  std::vector<std::uint64_t> candidates(snapshot_.nodes(), snapshot_.nodes() + snapshot_.word_count());
  const framework::PreFilterResult prepared =
      framework::run_pre_filter(*context, candidates.data(), candidates.size(), pre_filter_scratch_);
  filter_pass_.run(*context, {candidates.data(), prepared.taking_part(snapshot_.node_count())}, {},
                   snapshot_.node_count(), start_, findings_);
  const std::vector<cache::Slot>& found = findings_.feasible;
  if (!prepared.verdict.success() || prepared.narrowed || !findings_.error.empty() || found.size() != feasible)
    return false;
  if (feasible <= 1) return feasible == 0 || found.front() == best;
  return framework::run_pre_score(*context, found).empty() && score_pass_.run(*context, found, false, {}).empty() &&
         found[node_choice_.best(found, score_pass_.sums())] == best;
}

}  // namespace berth::cycle
