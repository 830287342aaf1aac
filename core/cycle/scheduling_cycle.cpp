// SPDX-License-Identifier: Apache-2.0
#include "cycle/scheduling_cycle.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/bitmap.hpp"
#include "cycle/score_log.hpp"
#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/points/reserve.hpp"

namespace berth::cycle {
namespace {

using framework::Code;
using framework::Verdict;

Rejection failure(const Error& error) {
  Rejection rejection;
  rejection.code = Code::error;
  rejection.message = error.message;
  return rejection;
}

Nominated nominated_for(const queue::Nominations& nominations, const cache::Snapshot& snapshot, const model::Pod& pod) {
  Nominated found;
  if (!nominations.has_nominations()) return found;
  for (model::NominatedPod& nominated : nominations.nominations()) {
    if (nominated.pod->uid == pod.uid || nominated.pod->priority < pod.priority) continue;
    const cache::Slot slot = nominated.node == k_no_symbol ? cache::k_no_slot : snapshot.find(nominated.node);
    if (slot != cache::k_no_slot) found[slot].push_back(std::move(nominated.pod));
  }
  return found;
}

/// True when totals of this profile fit into one word together with a rank, and weighted sums in 32 bits.
bool totals_pack(const framework::ProfileRuntime& profile) {
  std::int64_t sum = 0;
  for (const framework::Scorer& scorer : profile.score) sum += scorer.weight * BERTH_SCORE_MAX;
  return sum < k_max_packed_total;
}

}  // namespace

void Rejection::drop_evictions() {
  victims.clear();
  evictor.clear();
  preemption.reset();
  const bool gives_up = nomination.mode == model::Nomination::Mode::set && nomination.node == k_no_symbol;
  nomination = gives_up ? model::Nomination::clear() : model::Nomination{};
}

SchedulingCycle::SchedulingCycle(framework::Framework& framework, cache::ClusterCache& cache, cache::Snapshot& snapshot,
                                 queue::Nominations& nominations, CycleOptions options, CycleParts parts)
    : framework_(framework),
      cache_(cache),
      snapshot_(snapshot),
      nominations_(nominations),
      options_(options),
      blocks_(snapshot),
      filter_pass_(snapshot, blocks_, options.check_all_filters),
      score_pass_(snapshot, blocks_, options.score_max),
      extender_pass_(framework.host(), parts.extenders),
      preemption_(parts.preemption),
      classes_(options.verdicts),
      reuse_check_(blocks_, options.reuse == config::VerdictReuse::verify ? 1 : options.checked_one_in),
      on_undeclared_input_(std::move(parts.on_undeclared_input)) {
  if (options_.tie_seed) random_choice_.emplace(*options_.tie_seed);
}

std::optional<std::int32_t> SchedulingCycle::percentage(const framework::ProfileRuntime& profile) const noexcept {
  return profile.percentage_of_nodes_to_score ? profile.percentage_of_nodes_to_score
                                              : options_.percentage_of_nodes_to_score;
}

Outcome SchedulingCycle::run(const model::PodPtr& pod, std::uint64_t pod_class) {
  refresh();
  Attempt tried = attempt(pod, pod_class, nullptr);
  if (!tried.placement) return std::move(*tried.rejection);
  return permit(std::move(*tried.placement));
}

void SchedulingCycle::refresh() {
  spare_views_.release();
  choice_ticks_ = 0;
  cache_.refresh(snapshot_);
  framework_.reasons().trim();
  forget_changed_plugins();
}

Attempt SchedulingCycle::attempt(const model::PodPtr& pod, std::uint64_t pod_class, const GangAttempt* gang) {
  // 1. The profile, a fresh context.
  const std::size_t profile = framework_.index_of(pod->scheduler_name);
  if (profile == std::string::npos)
    return {{}, failure({fmt::format("profile not found for scheduler name \"{}\"", pod->scheduler_name)})};
  const observe::PodBreadcrumb breadcrumb(pod->ns, pod->name);
  auto context = framework_.pool(profile).take();
  // A class lets plugins reuse what they counted for another pod of it.
  context->begin(pod, options_.reuse == config::VerdictReuse::off ? 0 : pod_class, ++cycle_id_, &snapshot_);
  if (gang != nullptr) context->use(spare_views_);

  // 2. A node, or why there is none.
  const std::uint64_t began = observe::ticks();
  Search search{*context, gang};
  Choice choice = choose(search);
  choice_ticks_ += observe::ticks() - began;
  if (reuse_check_.has_found()) report_undeclared_inputs(*pod);
  const cache::Assume how = gang == nullptr ? cache::Assume::decided : cache::Assume::tried;
  if (auto* chosen = std::get_if<Chosen>(&choice)) return take(std::move(context), *chosen, how);
  Rejection& rejection = std::get<Rejection>(choice);
  apply_exemption(rejection, gang);
  const std::optional<Chosen> room = room_by_eviction(rejection, gang);
  if (!room) {
    if (gang != nullptr) context->give_views(spare_views_);
    return {{}, std::move(rejection)};
  }
  Attempt taken = take(std::move(context), *room, how);
  if (taken.placement) taken.rejection = std::move(rejection);
  return taken;
}

// Pods that get nodes together.

void SchedulingCycle::begin_gang_attempt() { refresh(); }

Attempt SchedulingCycle::reserve(const model::PodPtr& pod, std::uint64_t pod_class, const GangAttempt& gang) {
  Attempt tried = attempt(pod, pod_class, &gang);
  if (tried.placement) {
    tried.placement->reservation.context().leave_search(spare_views_);
    const cache::Slot slot = tried.placement->assumption.slot();
    cache_.refresh_nodes(snapshot_, {&slot, 1});
  }
  return tried;
}

void SchedulingCycle::give_back(Placement placement) {
  const cache::Slot slot = placement.assumption.slot();
  placement.reservation.cancel();
  placement.assumption.forget();
  cache_.refresh_nodes(snapshot_, {&slot, 1});
}

Rejection SchedulingCycle::reject(const Verdict& verdict) {
  Rejection rejection;
  if (verdict.code == Code::unresolvable) {
    cache_.refresh(snapshot_);
    Diagnosis diagnosis;
    diagnosis.node_count = snapshot_.node_count();
    diagnosis.pre_filter_message = verdict.message();
    rejection.code = verdict.code;
    rejection.message = diagnosis.message();
    rejection.rejectors.unschedulable.insert(verdict.plugin);
  } else {
    rejection = reject_one(verdict);
  }
  rejection.nomination = {};
  return rejection;
}

void SchedulingCycle::apply_exemption(Rejection& rejection, const GangAttempt* gang) const {
  if (gang == nullptr || !gang->exemption) return;
  for (const std::string& uid : rejection.victims) {
    const auto victim = cache_.find_pod(uid);
    const char* const why = victim ? gang->exemption(*victim->pod) : nullptr;
    if (why == nullptr) continue;
    rejection.post_filter_message = framework::sparing(*victim->pod, why);
    rejection.nomination = model::Nomination::clear();
    return rejection.drop_evictions();
  }
}

std::optional<SchedulingCycle::Chosen> SchedulingCycle::room_by_eviction(const Rejection& rejection,
                                                                         const GangAttempt* gang) const {
  if (gang == nullptr || !gang->takes_room || rejection.victims.empty()) return std::nullopt;
  const cache::Slot slot = snapshot_.find(rejection.nomination.node);
  if (slot == cache::k_no_slot) return std::nullopt;
  return Chosen{slot, snapshot_.node_count(), 0};
}

Nominated SchedulingCycle::nominated_to_others(const model::Pod& pod, const GangAttempt* gang) const {
  Nominated nominated = nominated_for(nominations_, snapshot_, pod);
  if (gang == nullptr) return nominated;
  for (auto at = nominated.begin(); at != nominated.end();) {
    std::erase_if(at->second, [&](const model::PodPtr& other) { return gang->member(*other); });
    at = at->second.empty() ? nominated.erase(at) : std::next(at);
  }
  return nominated;
}

void SchedulingCycle::report_undeclared_inputs(const model::Pod& pod) {
  classes_.clear();
  for (const UndeclaredInput& input : reuse_check_.settle(framework_, plugin_epochs_)) {
    ++reuse_counts_.violations;
    if (on_undeclared_input_) on_undeclared_input_(input, pod);
  }
}

void SchedulingCycle::forget_verdicts() noexcept {
  classes_.clear();
  reuse_counts_.bytes = 0;
}

void SchedulingCycle::forget_changed_plugins() {
  const std::uint64_t epochs = framework_.epochs();
  if (epochs != plugin_epochs_) classes_.clear();
  plugin_epochs_ = epochs;
}

SchedulingCycle::Choice SchedulingCycle::choose(Search& search) {
  framework::CycleContext& context = search.context;
  const std::uint32_t node_count = snapshot_.node_count();
  if (node_count == 0) {
    Rejection rejection;
    rejection.code = Code::unresolvable;
    rejection.message = "no nodes available to schedule pods";
    rejection.has_no_nodes = true;
    return rejection;
  }

  extender_pass_.begin();
  // 1. Pre-filter: reject the pod as a whole, or narrow the nodes.
  Diagnosis& diagnosis = search.diagnosis;
  diagnosis.node_count = node_count;
  candidates_.begin(snapshot_);
  const framework::PreFilterResult prepared = framework::run_pre_filter(context, candidates_, candidate_memory_);
  forget_changed_plugins();  // some notice only now that something has changed
  diagnosis.unschedulable_plugins = prepared.narrowed_by;
  if (prepared.verdict.code == Code::error) return failure({prepared.verdict.message()});
  if (!prepared.verdict.success()) {
    diagnosis.absent_code = prepared.verdict.code;
    diagnosis.absent_reasons = prepared.verdict.reasons;
    diagnosis.pre_filter_message = prepared.verdict.message();
    if (prepared.verdict.plugin != model::k_no_plugin) diagnosis.unschedulable_plugins.insert(prepared.verdict.plugin);
    return reject(search);
  }

  // 2. The nominated node, if there is one.
  search.nominated = nominated_to_others(*context.pod(), search.gang);
  if (context.pod()->nominated_node != k_no_symbol)
    if (auto choice = try_nominated(search)) return std::move(*choice);

  // 3. All candidates.
  search.narrowed_by = prepared.narrowed_by;
  const framework::ProfileRuntime& profile = context.profile();
  const bool compares =
      !profile.score.empty() || extender_pass_.any_prioritizes() || extender_pass_.any_filters() ||
      std::any_of(profile.absent.begin(), profile.absent.end(), [](const auto& a) { return a.scores; });
  const std::int64_t wanted = compares || random_choice_
                                  ? nodes_to_find(static_cast<std::int64_t>(candidates_.count()), percentage(profile))
                                  : 1;
  if (auto choice = choose_by_class(search, prepared.narrowed, wanted)) return std::move(*choice);
  return choose_by_search(search, wanted);
}

std::optional<SchedulingCycle::Choice> SchedulingCycle::try_nominated(Search& search) {
  framework::CycleContext& context = search.context;
  const cache::Slot slot = snapshot_.find(context.pod()->nominated_node);
  if (slot == cache::k_no_slot) return std::nullopt;
  const auto others = search.nominated.find(slot);
  const framework::NodeVerdict verdict = filter_pass_.judge_nominated(
      context, slot, others == search.nominated.end() ? std::vector<model::PodPtr>{} : others->second);
  if (verdict.code == Code::success) {
    std::vector<cache::Slot> left{slot};  // extenders may put others in its place
    if (!extender_pass_.filter(*context.pod(), left).ok() || left.empty()) return std::nullopt;
    const std::uint32_t said = extender_pass_.rejected_outside(std::vector<std::uint64_t>(snapshot_.word_count()));
    if (left.size() == 1) return Choice{Chosen{left.front(), 1 + said, 1}};
    return score_and_select(context, left, said);
  }
  if (verdict.code == Code::error) return std::nullopt;  // the full search will meet it again, or not
  // Quirk kept from upstream: whom the probe met is remembered only where pre-filter had begun the list.
  model::PluginSet& known = search.diagnosis.unschedulable_plugins;
  if (!known.empty()) known.insert(verdict.plugin->index());
  search.probe = Probe{slot, verdict};
  return std::nullopt;
}

std::optional<SchedulingCycle::Choice> SchedulingCycle::choose_by_class(Search& search, bool narrowed,
                                                                        std::int64_t wanted) {
  framework::CycleContext& context = search.context;
  const framework::ProfileRuntime& profile = context.profile();
  if (options_.reuse == config::VerdictReuse::off || random_choice_ || options_.score_max != BERTH_SCORE_MAX ||
      context.pod_class() == 0 || narrowed || !search.nominated.empty() || search.probe ||
      extender_pass_.judges(*context.pod()) || wanted < static_cast<std::int64_t>(snapshot_.node_count()) ||
      !totals_pack(profile) || logs_scores())
    return std::nullopt;
  const bool by_row = std::all_of(profile.filter.begin(), profile.filter.end(), [&](const auto* plugin) {
    return plugin->filter_is_reusable() || context.skips_filter(*plugin);
  });
  columns_.clear();
  bool by_groups = framework::ask_filter_columns(context, columns_);
  if (!by_row && !by_groups) return std::nullopt;

  const std::uint64_t pod_class = context.pod_class();
  ClassEntry& entry = classes_.entry(pod_class);
  reuse_check_.begin(entry);
  const auto fall_back = [&]() -> std::optional<Choice> {
    classes_.drop(pod_class);
    return std::nullopt;
  };
  {
    const framework::PointRun filtering(profile, observe::Point::filter);
    if (!entry.update_filters(context, blocks_, classes_.buffers())) return fall_back();
  }
  const std::uint32_t passing = entry.passing();
  by_groups = by_groups && !entry.has_too_many_groups() && passing != 0 &&
              framework::ask_score_columns(context, passing, columns_);
  if (by_groups) {
    if (auto choice = choose_by_groups(search, entry)) return choice;
    columns_.clear();
  }
  if (!by_row) return std::nullopt;
  entry.update_feasible(snapshot_, start_ % snapshot_.node_count(), classes_.buffers());
  reuse_check_.check_filters(context, entry, start_ % snapshot_.node_count());
  const auto feasible = entry.feasible();
  classes_.settle(pod_class, snapshot_.node_count());
  reuse_counts_.bytes = classes_.bytes();
  if (feasible.empty()) return reject_class(search, entry);
  ++reuse_counts_.reused;
  // All nodes were judged, so the rotation comes round to where it was.
  const auto node_count = snapshot_.node_count();
  if (feasible.size() == 1) return Choice{Chosen{feasible.front(), node_count, 1}};

  if (Status prepared = framework::run_pre_score(context, feasible); !prepared.ok())
    return Choice{failure(prepared.error())};
  framework::PointRun scoring(profile, observe::Point::score);
  if (Status scored = entry.update_scores(context, blocks_, classes_.buffers()); !scored.ok()) {
    scoring.ended(Code::error);
    classes_.drop(pod_class);
    return Choice{failure(scored.error())};
  }
  reuse_check_.check_scores(context, entry);
  classes_.settle(pod_class, snapshot_.node_count());
  reuse_counts_.bytes = classes_.bytes();
  if (reuse_check_.has_found()) return std::nullopt;  // other nodes may be feasible in the fresh answers
  const bool others_score = std::any_of(profile.score.begin(), profile.score.end(), [&](const framework::Scorer& s) {
    return framework::scores(context, s) && !framework::scores_all_zero(context, s) &&
           (!s.plugin->score_is_reusable() || s.plugin->score->normalize_kind == BERTH_NORM_CUSTOM);
  });
  const auto count = static_cast<std::uint32_t>(feasible.size());
  if (!others_score) {
    ++reuse_counts_.ranked;
    const BestNode best = entry.best();
    return Choice{Chosen{best.slot, node_count, count, best.total}};
  }
  totals_.assign(feasible.size(), 0);
  entry.add_totals(snapshot_, totals_);
  if (Status scored = score_pass_.run(context, feasible, true, {}); !scored.ok()) {
    scoring.ended(Code::error);
    return Choice{failure(scored.error())};
  }
  for (std::size_t i = 0; i < feasible.size(); ++i) totals_[i] += score_pass_.sums()[feasible[i]];
  const std::size_t best = node_choice_.best(totals_);
  return Choice{Chosen{feasible[best], node_count, count, totals_[best]}};
}

SchedulingCycle::Choice SchedulingCycle::reject_class(Search& search, ClassEntry& entry) {
  if (entry.diagnosis() != nullptr) {
    ++reuse_counts_.reused;
    ++reuse_counts_.diagnoses;
    search.kept = entry.diagnosis();
    return reject(search);
  }
  ++reuse_counts_.evaluated;
  diagnose(search);
  search.diagnosis.complete(snapshot_.nodes(), snapshot_.word_count());
  std::string message = search.diagnosis.message();
  entry.keep({std::move(search.diagnosis), std::move(message)});
  search.kept = entry.diagnosis();
  classes_.settle(search.context.pod_class(), snapshot_.node_count());
  reuse_counts_.bytes = classes_.bytes();
  return reject(search);
}

std::optional<SchedulingCycle::Choice> SchedulingCycle::choose_by_groups(Search& search, ClassEntry& entry) {
  framework::CycleContext& context = search.context;
  const framework::ProfileRuntime& profile = context.profile();
  {
    const framework::PointRun scoring(profile, observe::Point::score);
    const std::size_t start = start_ % snapshot_.node_count();
    const auto update = [&] { return entry.update_groups(context, blocks_, classes_.buffers(), columns_, start); };
    reuse_check_.check_filters(context, entry, start);
    if (!update()) return std::nullopt;
    reuse_check_.check_scores(context, entry);
    if (reuse_check_.has_found() && !update()) return std::nullopt;  // the fresh answers have come in their place
  }
  classes_.settle(context.pod_class(), snapshot_.node_count());
  reuse_counts_.bytes = classes_.bytes();
  if (!entry.judge_groups(context, columns_)) return std::nullopt;
  const std::uint32_t feasible = entry.groups().feasible();
  std::optional<BestNode> best;
  if (feasible == 1) best = BestNode{entry.groups().only(snapshot_)};
  if (feasible > 1) best = entry.best_of_groups(context, snapshot_, columns_);
  if (feasible != 0 && !best) return std::nullopt;
  if (options_.reuse == config::VerdictReuse::verify && !agrees(context, feasible, best.value_or(BestNode()))) {
    reuse_check_.add_choice(context, best ? best->slot : snapshot_.order().front());
    return std::nullopt;
  }
  if (feasible == 0) return reject_class(search, entry);
  ++reuse_counts_.reused;
  if (feasible != 1) ++reuse_counts_.ranked;
  return Chosen{best->slot, snapshot_.node_count(), feasible, best->total};
}

SchedulingCycle::Choice SchedulingCycle::choose_by_search(Search& search, std::int64_t wanted) {
  framework::CycleContext& context = search.context;
  ++reuse_counts_.evaluated;
  {
    framework::PointRun filtering(context.profile(), observe::Point::filter);
    filter_pass_.run(context, candidates_, search.nominated, wanted, start_, findings_);
    if (!findings_.error.empty()) filtering.ended(Code::error);
  }
  // The nominated node's rejection counts once, also when the search did not come to it.
  const bool probed_apart = search.probe && !bitmap::test(findings_.rejected_nodes.data(), search.probe->slot);
  const auto judged = [&] {
    return findings_.rejected + (probed_apart ? 1 : 0) + extender_pass_.rejected_outside(findings_.rejected_nodes);
  };
  start_ = (start_ + findings_.feasible.size() + judged()) % snapshot_.node_count();
  if (!findings_.error.empty()) return failure({findings_.error});
  const std::size_t passed_filters = findings_.feasible.size();
  if (Status filtered = extender_pass_.filter(*context.pod(), findings_.feasible); !filtered.ok())
    return failure(filtered.error());
  if (findings_.feasible.size() != passed_filters)
    search.diagnosis.unschedulable_plugins.insert(framework_.extra_rejector());
  if (findings_.feasible.empty()) return reject_all(search, passed_filters);
  if (findings_.feasible.size() == 1) return Chosen{findings_.feasible.front(), 1 + judged(), 1};
  return score_and_select(context, findings_.feasible, judged());
}

Rejection SchedulingCycle::reject_all(Search& search, std::size_t passed_filters) {
  // Of nodes that passed, or that the search did not come to, the plugins have nothing to say.
  if (passed_filters != 0) candidates_.keep(findings_.rejected_nodes.data());
  extender_pass_.leave_out(candidates_);
  diagnose(search);
  Diagnosis& diagnosis = search.diagnosis;
  extender_pass_.add_to(diagnosis);
  const std::optional<Probe>& probe = search.probe;
  if (probe && !candidates_.contains(probe->slot) && extender_pass_.said_about(probe->slot) == nullptr) {
    const model::PluginSet known = diagnosis.unschedulable_plugins;
    diagnosis.add(probe->slot, probe->verdict);
    diagnosis.unschedulable_plugins = known;
  }
  return reject(search);
}

SchedulingCycle::Choice SchedulingCycle::score_and_select(framework::CycleContext& context,
                                                          std::span<const cache::Slot> feasible, std::uint32_t judged) {
  const auto count = static_cast<std::uint32_t>(feasible.size());
  if (Status prepared = framework::run_pre_score(context, feasible); !prepared.ok()) return failure(prepared.error());
  {
    framework::PointRun scoring(context.profile(), observe::Point::score);
    const ScorePass::Each each = logs_scores() ? log_scores(*context.pod(), snapshot_, feasible) : ScorePass::Each();
    if (Status scored = score_pass_.run(context, feasible, false, each); !scored.ok()) {
      scoring.ended(Code::error);
      return failure(scored.error());
    }
  }
  if (!extender_pass_.judges(*context.pod())) {
    if (logs_scores())
      log_totals(*context.pod(), snapshot_, feasible, [&](std::size_t i) { return score_pass_.sums()[feasible[i]]; });
    const std::size_t best = random_choice_ ? random_choice_->best(feasible, score_pass_.sums())
                                            : node_choice_.best(feasible, score_pass_.sums());
    return Chosen{feasible[best], count + judged, count, score_pass_.sums()[feasible[best]]};
  }
  totals_.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i) totals_[i] = score_pass_.sums()[feasible[i]];
  const Result<std::vector<std::int64_t>> ranks = extender_pass_.ranks(*context.pod(), feasible, totals_);
  if (!ranks.ok()) return failure(ranks.error());
  if (logs_scores()) {
    for (const extender::Extenders::Score& score : extender_pass_.scores())
      log_extender_scores(*context.pod(), snapshot_, feasible, score);
    log_totals(*context.pod(), snapshot_, feasible, [&](std::size_t i) { return totals_[i]; });
  }
  std::size_t best = 0;
  if (random_choice_) {
    std::vector<std::uint32_t> positions(ranks->size());
    std::iota(positions.begin(), positions.end(), 0U);
    best = random_choice_->best(positions, ranks->data());
  } else {
    best = node_choice_.best(*ranks);
  }
  return Chosen{feasible[best], count + judged, count, totals_[best]};
}

void SchedulingCycle::diagnose(Search& search) {
  Diagnosis& diagnosis = search.diagnosis;
  if (!search.context.profile().post_filter.empty()) {
    diagnosis.unschedulable.assign(snapshot_.word_count(), 0);
    diagnosis.unresolvable.assign(snapshot_.word_count(), 0);
  }
  filter_pass_.diagnose(search.context, candidates_.bits(), search.nominated, diagnosis, nullptr);
}

Rejection SchedulingCycle::reject(Search& search) {
  framework::CycleContext& context = search.context;
  const GangAttempt* const gang = search.gang;
  if (!search.narrowed_by.empty())
    search.diagnosis.absent_reasons = {"node(s) didn't satisfy plugin(s) " +
                                       framework::sorted_names(framework_.names(), search.narrowed_by)};
  const Diagnosis& diagnosis = search.kept != nullptr ? search.kept->diagnosis : search.diagnosis;
  Rejection rejection;
  rejection.code = Code::unschedulable;
  rejection.message = search.kept != nullptr ? search.kept->message : diagnosis.message();
  rejection.rejectors = {diagnosis.unschedulable_plugins, diagnosis.pending_plugins};
  if (context.profile().post_filter.empty() || (gang != nullptr && !gang->post_filter)) return rejection;
  if (search.kept == nullptr) search.diagnosis.complete(snapshot_.nodes(), snapshot_.word_count());
  const Nominated nominated = nominated_to_others(*context.pod(), gang);
  if (!nominated.empty()) context.show_nominated(&nominated);
  if (gang != nullptr && gang->exemption) context.show_exemption(&gang->exemption);
  framework::PostFilterResult answer = framework::run_post_filter(
      context, diagnosis.unschedulable.data(), diagnosis.unresolvable.data(), snapshot_.word_count());
  context.show_nominated(nullptr);
  context.show_exemption(nullptr);
  if (preemption_ != nullptr && options_.reuse == config::VerdictReuse::verify)
    for (const preemption::ChangedAnswer& changed : preemption_->changed_answers(context.cycle_id()))
      reuse_check_.add_victims(context, changed);
  observe::V(5).info("Status after running PostFilter plugins for pod",
                     {{"pod", *context.pod()}, {"status", answer.message}});
  rejection.post_filter_message = std::move(answer.message);
  rejection.nomination = answer.nomination;
  rejection.victims = std::move(answer.victims);
  if (answer.nominator != nullptr) {
    rejection.evictor = answer.nominator->name();
    if (preemption_ != nullptr)
      rejection.preemption = preemption_->report(*answer.nominator, context.cycle_id(), answer.node);
  }
  return rejection;
}

Rejection SchedulingCycle::reject_one(const Verdict& verdict) {
  Rejection rejection;
  rejection.code = verdict.code;
  if (!framework::rejects(verdict.code)) {
    rejection.message = verdict.message();
    return rejection;
  }
  // Worded as a fit error over one node, as upstream does.
  Diagnosis diagnosis;
  diagnosis.node_count = 1;
  diagnosis.explicit_count = 1;
  for (const std::string& reason : verdict.reasons) ++diagnosis.reasons[reason];
  rejection.message = diagnosis.message();
  rejection.rejectors.unschedulable.insert(verdict.plugin);
  if (verdict.code == Code::pending) rejection.rejectors.pending.insert(verdict.plugin);
  return rejection;
}

Attempt SchedulingCycle::take(framework::CyclePool::Handle context, const Chosen& chosen, cache::Assume how) {
  const model::NodePtr& node = snapshot_.row(chosen.slot).node;
  auto assumed = cache_.assume(context->pod(), node->name_symbol, how);
  if (!assumed) return {{}, failure(assumed.error())};
  auto reserved = framework::run_reserve(std::move(context), chosen.slot);
  if (const auto* verdict = std::get_if<Verdict>(&reserved)) return {{}, reject_one(*verdict)};
  return {Placement{std::move(assumed).value(),
                    std::move(std::get<framework::Reservation>(reserved)),
                    node,
                    {},
                    chosen.evaluated,
                    chosen.feasible,
                    chosen.total},
          {}};
}

Outcome SchedulingCycle::permit(Placement placement) {
  framework::CycleContext& context = placement.reservation.context();
  const observe::PodBreadcrumb breadcrumb(context.pod()->ns, context.pod()->name);
  placement.assumption.decide();
  nominations_.remove_nomination(*context.pod());
  framework::PermitResult permit = framework::run_permit(context, placement.reservation.slot());
  if (!permit.verdict.success() && permit.verdict.code != Code::wait) {
    give_back(std::move(placement));
    return reject_one(permit.verdict);
  }
  context.leave_snapshot();
  placement.waits = std::move(permit.waits);
  return placement;
}

Explanation SchedulingCycle::explain(const model::PodPtr& pod, ExplainWith with) {
  return Explainer(*this).explain(pod, with);
}

Standing SchedulingCycle::stand(const model::PodPtr& pod, cache::Slot node, const StandingWith& with) {
  return Explainer(*this).stand(pod, node, with);
}

bool SchedulingCycle::agrees(const framework::CycleContext& of_class, std::uint32_t feasible, const BestNode& best) {
  // In a context without a class plugins count from the start.
  auto context = framework_.pool(framework_.index_of(of_class.pod()->scheduler_name)).take();
  context->begin(of_class.pod(), 0, ++cycle_id_, &snapshot_);
  framework::CandidateNodes candidates;
  candidates.begin(snapshot_);
  const framework::PreFilterResult prepared = framework::run_pre_filter(*context, candidates, candidate_memory_);
  filter_pass_.run(*context, candidates, {}, snapshot_.node_count(), start_, findings_);
  const std::vector<cache::Slot>& found = findings_.feasible;
  if (!prepared.verdict.success() || prepared.narrowed || !findings_.error.empty() || found.size() != feasible)
    return false;
  if (feasible <= 1) return feasible == 0 || found.front() == best.slot;
  if (!framework::run_pre_score(*context, found).ok() || !score_pass_.run(*context, found, false, {}).ok())
    return false;
  return found[node_choice_.best(found, score_pass_.sums())] == best.slot &&
         score_pass_.sums()[best.slot] == best.total;
}

}  // namespace berth::cycle
