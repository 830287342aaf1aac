// SPDX-License-Identifier: Apache-2.0
// PodTopologySpread: keeps the number of matching pods per domain (zone, host, ...) within a skew, or prefers to.
//
// Assumes: pods without constraints of their own get the profile's defaults, if a service or controller selects them.
// Decides: filter by hard_constraints.hpp, score by soft_constraints.hpp; both count pods per shape, not per pod.
// Ties:    equal scores are the host's to break.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread.
#include <berth/plugin.hpp>

#include "default_selector.hpp"
#include "hard_constraints.hpp"
#include "soft_constraints.hpp"
#include "soft_groups.hpp"
#include "spread_args.hpp"
#include "spread_hints.hpp"

namespace berth::pod_topology_spread {
namespace {

class PodTopologySpread {
 public:
  // Not reentrant: label tables, parsed selectors and counts are kept between cycles.
  static constexpr Identity identity{.name = "PodTopologySpread",
                                     .version = "1.0.0",
                                     .summary = "Spreads matching pods over the domains of a topology key.",
                                     .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE |
                                             BERTH_DEP_OTHER_NODES | BERTH_DEP_OBJECTS};
  static constexpr const char* args_schema = k_spread_args_schema;
  static constexpr ReasonText reasons[] = {
      {"node(s) didn't match pod topology spread constraints (missing required label)", "MissingTopologyLabel"},
      {"node(s) didn't match pod topology spread constraints", "TopologySpread"}};
  static constexpr const char* services[] = {Intern::id,  Labels::id,   Sets::id,
                                             Objects::id, PodIndex::id, "berth.nodes/1"};
  static constexpr auto& watches = DefaultSelectors::k_watches;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr Interest interests[] = {
      hinted(BERTH_KIND_POD, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_POD_LABEL | BERTH_ACTION_UPDATE_POD_TOLERATION |
                                 BERTH_ACTION_DELETE),
      hinted(BERTH_KIND_NODE,
             BERTH_ACTION_ADD | BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_NODE_LABEL | BERTH_ACTION_UPDATE_NODE_TAINT)};

  /// Left by pre_filter and pre_score; each finds its part or knows that the profile left the other point out.
  struct State {
    std::optional<HardState> hard;
    std::shared_ptr<const SoftState> soft;
    std::shared_ptr<const SoftSums> soft_sums;  // in place of soft, for groups of nodes
  };

  explicit PodTopologySpread(Setup& setup)
      : args_(read_spread_args(setup.args(), setup.service<Intern>())),
        hostname_(setup.service<Intern>()("kubernetes.io/hostname")),
        facts_(node_facts(setup)),
        pod_index_(setup.service<PodIndex>()),
        hints_(setup.service<Sets>(), setup.label_set(), facts_.taint_set) {
    setup.pod_fields(BERTH_POD_SPREAD | BERTH_POD_LABELS | BERTH_POD_NAMESPACE | BERTH_POD_TOLERATIONS |
                     BERTH_POD_NODE_SELECTION);
    if (args_.defaults.empty()) return;
    setup.pod_fields(BERTH_POD_OWNER);
    default_selectors_.emplace(setup);
  }

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& point) {
    std::vector<Constraint> rules =
        rules_for(cycle.pod(), BERTH_SPREAD_DO_NOT_SCHEDULE,
                  "get constraints from pod: obtaining pod's hard topology spread constraints: ");
    if (rules.empty()) return Verdict::skip();
    HardCounter for_this_pod;
    HardCounter* const kept = hard_.find(cycle);
    HardCounter& counter = kept != nullptr ? *kept : for_this_pod;
    auto counts = counter.up_to_date(cycle, std::move(rules), facts_, pod_index_, domains_);
    if (kept != nullptr) hard_.settle(counter.bytes());
    point.get_or_make().hard.emplace(std::move(counts));
    return Verdict::ok();
  }

  Verdict pod_added(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, 1); }
  Verdict pod_removed(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, -1); }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const State* state = cycle.state<State>();
    if (state == nullptr || !state->hard)
      throw Failure(R"(reading "PreFilterPodTopologySpread" from cycleState: not found)");
    state->hard->filter(block, unresolvable(1), unschedulable(2));
  }

  Verdict pre_score(const Cycle& cycle, PreScore<State>& point) {
    if (cycle.node_count() == 0) return Verdict::skip();
    const bool require_all = !cycle.pod().spread().empty() || !args_.built_in;
    std::vector<Constraint> rules =
        rules_for(cycle.pod(), BERTH_SPREAD_SCHEDULE_ANYWAY,
                  "calculating preScoreState: obtaining pod's soft topology spread constraints: ");
    if (rules.empty()) return Verdict::skip();
    point.get_or_make().soft =
        count_soft(cycle, std::move(rules), require_all, point.nodes(), hostname_, facts_, pod_index_, domains_);
    return Verdict::ok();
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const SoftState& soft = soft_of(cycle);
    for (std::uint32_t w = 0; w < block.words(); ++w)
      if (block.candidates(w) != 0) soft.score_word(block, w, block.scores(w));
  }
  void normalize(const Cycle& cycle, std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    soft_of(cycle).normalize(nodes, scores);
  }

  bool filter_columns(const Cycle& cycle, const DomainColumnList& out) {
    const State* state = cycle.state<State>();
    if (state == nullptr || !state->hard) return false;
    state->hard->name_columns(out);
    return true;
  }
  void filter_groups(const Cycle& cycle, FilterGroups& groups) const {
    cycle.state<State>()->hard->filter_groups(groups);
  }

  ByDomain score_columns(const Cycle& cycle, PreScore<State>& point, const DomainColumnList& out) {
    if (cycle.node_count() == 0) return ByDomain::nothing;
    const bool require_all = !cycle.pod().spread().empty() || !args_.built_in;
    std::vector<Constraint> rules = rules_for(cycle.pod(), BERTH_SPREAD_SCHEDULE_ANYWAY, "");
    if (rules.empty()) return ByDomain::nothing;
    SoftCounter* const kept = soft_.find(cycle);
    if (kept == nullptr) return ByDomain::impossible;
    auto sums = kept->up_to_date(cycle, std::move(rules), require_all, hostname_, facts_, pod_index_, domains_);
    soft_.settle(kept->bytes());
    if (!sums) return ByDomain::impossible;
    sums->name_columns(out);
    point.get_or_make().soft_sums = std::move(sums);
    return ByDomain::yes;
  }
  void score_groups(const Cycle& cycle, const DomainGroups& groups, std::span<std::int64_t> scores) const {
    cycle.state<State>()->soft_sums->score(groups, scores);
  }

  bool hint(const Event& event, Pod waiting) const {
    const std::vector<Constraint> rules = hard_rules_on_watch(waiting);
    return event.interest() == 0 ? hints_.after_pod_event(event, waiting, rules)
                                 : hints_.after_node_event(event, rules);
  }

 private:
  static Verdict move_pod(const Cycle& cycle, Pod other, Slot node, std::int64_t delta) {
    State* const state = cycle.state<State>();
    if (state == nullptr || !state->hard) return Verdict::ok();
    return state->hard->move_pod(other, node, delta) ? Verdict::ok() : Verdict::skip();
  }
  static NodeFacts node_facts(Setup& setup) {
    const auto* nodes = static_cast<const berth_nodes_v1*>(setup.host().service(setup.host().ctx, "berth.nodes/1"));
    if (nodes == nullptr) throw TooOld("the host has no service berth.nodes/1");
    return {setup.service<Labels>(),
            setup.service<Sets>(),
            setup.service<Intern>(),
            NodeMatcher(setup.service<Intern>()),
            nodes,
            setup.host().ctx,
            setup.name(),
            setup.taint_set()};
  }

  static const SoftState& soft_of(const Cycle& cycle) {
    const State* state = cycle.state<State>();
    if (state == nullptr || !state->soft)
      throw Failure(R"(error reading "PreScorePodTopologySpread" from cycleState: not found)");
    return *state->soft;
  }

  static std::vector<Constraint> own_rules(Pod pod, std::uint32_t action, std::string_view context) {
    try {
      return constraints_of(pod, action);
    } catch (const Failure& e) {
      throw Failure(std::string(context) + e.what());
    }
  }

  /// Defaults of that action, with the selector that selector() deduces; none when it selects everything.
  template <class MakeSelector>
  std::vector<Constraint> default_rules(std::uint32_t action, MakeSelector&& make_selector) const {
    std::vector<Constraint> rules;
    for (const Constraint& each : args_.defaults)
      if (each.action == action) rules.push_back(each);
    if (rules.empty()) return rules;
    const OwnedSelector selector = make_selector();
    if (selector.selects_everything()) return {};
    for (Constraint& each : rules) each.selector = selector;
    return rules;
  }

  std::vector<Constraint> rules_for(Pod pod, std::uint32_t action, std::string_view context) {
    if (!pod.spread().empty()) return own_rules(pod, action, context);
    return default_rules(action, [&] { return default_selectors_->cached(pod); });
  }
  std::vector<Constraint> hard_rules_on_watch(Pod pod) const {
    if (!pod.spread().empty()) return own_rules(pod, BERTH_SPREAD_DO_NOT_SCHEDULE, "");
    return default_rules(BERTH_SPREAD_DO_NOT_SCHEDULE, [&] { return default_selectors_->fresh(pod); });
  }

  SpreadArgs args_;
  Id hostname_;
  NodeFacts facts_;
  PodIndex pod_index_;
  SpreadHints hints_;
  std::optional<DefaultSelectors> default_selectors_;  // absent when there are no default constraints
  DomainCache domains_;
  static constexpr std::size_t k_kept_bytes_max = std::size_t{32} << 20;  // of each table
  KeptByClass<HardCounter> hard_{k_kept_bytes_max};
  KeptByClass<SoftCounter> soft_{k_kept_bytes_max};
};

}  // namespace
}  // namespace berth::pod_topology_spread

BERTH_PLUGIN(berth::pod_topology_spread::PodTopologySpread)
