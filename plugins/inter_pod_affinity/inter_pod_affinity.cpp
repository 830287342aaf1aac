// SPDX-License-Identifier: Apache-2.0
// InterPodAffinity: places pods near to, or away from, other pods, per domain of a topology key.
//
// Assumes: a label key names a domain; nodes without the key are in no domain.
// Decides: filter by required_terms.hpp, score by preferred_terms.hpp; both look at shapes of pods, not at pods.
//          Raw scores may be negative; the host stretches them over 0..100.
// Ties:    equal scores are the host's to break.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/interpodaffinity.
#include <berth/plugin.hpp>

#include "affinity_args.hpp"
#include "affinity_hints.hpp"
#include "namespaces.hpp"
#include "preferred_terms.hpp"
#include "required_terms.hpp"

namespace berth::inter_pod_affinity {
namespace {

class InterPodAffinity {
 public:
  // Not reentrant: label tables, namespaces and sums are kept between cycles.
  static constexpr Identity identity{.name = "InterPodAffinity",
                                     .version = "1.0.0",
                                     .summary = "Places pods near to, or away from, other pods.",
                                     .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE |
                                             BERTH_DEP_OTHER_NODES | BERTH_DEP_OBJECTS};
  static constexpr const char* args_schema = k_affinity_args_schema;
  static constexpr ReasonText reasons[] = {
      {"node(s) didn't match pod affinity rules", "PodAffinity"},
      {"node(s) didn't match pod anti-affinity rules", "PodAntiAffinity"},
      {"node(s) didn't satisfy existing pods anti-affinity rules", "ExistingPodsAntiAffinity"}};
  static constexpr const char* services[] = {Intern::id,  Labels::id,   Sets::id,
                                             Objects::id, PodIndex::id, "berth.nodes/1"};
  static constexpr auto& watches = Namespaces::k_watches;
  static constexpr Normalize normalization = Normalize::minmax;
  static constexpr Interest interests[] = {
      hinted(BERTH_KIND_POD, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_POD_LABEL | BERTH_ACTION_DELETE),
      hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  /// Left by pre_filter and pre_score; each finds its part or knows that the profile left the other point out.
  struct State {
    std::optional<RequiredState> required;
    std::shared_ptr<const PairSums> preferred;
  };

  explicit InterPodAffinity(Setup& setup)
      : args_(read_affinity_args(setup.args())),
        labels_(setup.service<Labels>()),
        sets_(setup.service<Sets>()),
        pod_index_(setup.service<PodIndex>()),
        nodes_(static_cast<const berth_nodes_v1*>(setup.host().service(setup.host().ctx, "berth.nodes/1"))),
        ctx_(setup.host().ctx),
        label_set_(setup.label_set()),
        namespaces_(setup),
        hints_(sets_, label_set_) {
    if (nodes_ == nullptr) throw TooOld("the host has no service berth.nodes/1");
    setup.pod_fields(BERTH_POD_AFFINITY | BERTH_POD_LABELS | BERTH_POD_NAMESPACE);
  }

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& point) {
    const berth_affinity_v1& affinity = cycle.pod().affinity();
    if (std::string problems = parse_problems(affinity); !problems.empty())
      return Verdict::unresolvable("parsing pod: " + problems);
    const bool own_terms = affinity.required_count != 0 || affinity.anti_required_count != 0;
    if (!own_terms && pod_index_.count(cycle, BERTH_SHAPES_WITH_REQUIRED_ANTI) == 0) return Verdict::skip();
    const std::uint64_t facts = facts_of(cycle);
    const Topology topology(cycle, labels_, domains_, facts);
    const auto* label_sets = static_cast<const Id*>(nodes_->column(ctx_, cycle.raw(), label_set_.index));
    RequiredCounter for_this_pod;
    RequiredCounter* const kept = required_.find(cycle);
    RequiredCounter& counter = kept != nullptr ? *kept : for_this_pod;
    auto counts = counter.up_to_date(cycle, topology, pod_index_, namespaces_, label_sets, facts);
    if (kept != nullptr) required_.settle(counter.bytes());
    if (!own_terms && !counts->existing_anti.touched()) return Verdict::skip();
    point.get_or_make().required.emplace(std::move(counts));
    return Verdict::ok();
  }

  Verdict pod_added(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, 1); }
  Verdict pod_removed(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, -1); }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const State* state = cycle.state<State>();
    if (state == nullptr || !state->required)
      throw Failure(R"(error reading "PreFilterInterPodAffinity" from cycleState: not found)");
    state->required->filter(block, unresolvable(1), unschedulable(2), unschedulable(3), sets_);
  }

  Verdict pre_score(const Cycle& cycle, PreScore<State>& point) {
    auto sums = preferred_sums(cycle);
    if (!sums) return Verdict::skip();
    point.get_or_make().preferred = std::move(sums);
    return Verdict::ok();
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const State* state = cycle.state<State>();
    if (state == nullptr || !state->preferred)
      throw Failure(R"(failed to read "PreScoreInterPodAffinity" from cycleState: not found)");
    for (std::uint32_t w = 0; w < block.words(); ++w)
      if (block.candidates(w) != 0) score_word(*state->preferred, block, w, block.scores(w));
  }

  bool filter_columns(const Cycle& cycle, const DomainColumnList& out) {
    const State* state = cycle.state<State>();
    if (state == nullptr || !state->required) return false;
    state->required->name_columns(out);
    return true;
  }
  void filter_groups(const Cycle& cycle, FilterGroups& groups) const {
    cycle.state<State>()->required->filter_groups(groups);
  }

  ByDomain score_columns(const Cycle& cycle, PreScore<State>& point, const DomainColumnList& out) {
    auto sums = preferred_sums(cycle);
    if (!sums) return ByDomain::nothing;
    sums->name_columns(out);
    point.get_or_make().preferred = std::move(sums);
    return ByDomain::yes;
  }
  void score_groups(const Cycle&, const DomainGroups& groups, std::span<std::int64_t> scores) const {
    for (std::uint32_t c = 0; c < groups.column_count(); ++c)
      for (std::uint32_t g = 0; g < groups.size(); ++g) scores[g] += groups.value(c, g);
  }

  bool hint(const Event& event, Pod waiting) const {
    return event.interest() == 0 ? hints_.after_pod_event(event, waiting) : hints_.after_node_event(event, waiting);
  }

 private:
  static constexpr std::size_t k_kept_bytes_max = std::size_t{32} << 20;  // of each table

  std::uint64_t facts_of(const Cycle& cycle) const noexcept {
    return nodes_->facts != nullptr ? nodes_->facts(ctx_, cycle.raw()) : 0;
  }
  /// Null: no preference touches any node.
  std::shared_ptr<const PairSums> preferred_sums(const Cycle& cycle) {
    const berth_affinity_v1& affinity = cycle.pod().affinity();
    const bool own_preferences = affinity.preferred_count != 0 || affinity.anti_preferred_count != 0;
    if (args_.ignore_existing_preferences && !own_preferences) return nullptr;
    if (std::string problems = parse_problems(affinity); !problems.empty())
      throw Failure("failed to parse pod: " + problems);
    if (!own_preferences && pod_index_.count(cycle, BERTH_SHAPES_WITH_AFFINITY) == 0) return nullptr;
    const std::uint64_t facts = facts_of(cycle);
    const Topology topology(cycle, labels_, domains_, facts);
    PreferredCounter for_this_pod;
    PreferredCounter* const kept = preferred_.find(cycle);
    PreferredCounter& counter = kept != nullptr ? *kept : for_this_pod;
    auto sums = counter.up_to_date(cycle, topology, pod_index_, namespaces_, args_.hard_weight, facts);
    if (kept != nullptr) preferred_.settle(counter.bytes());
    return sums->touched() ? sums : nullptr;
  }

  Verdict move_pod(const Cycle& cycle, Pod other, Slot node, std::int64_t delta) const {
    State* state = cycle.state<State>();
    if (state == nullptr || !state->required) return Verdict::ok();
    return state->required->move_pod(cycle.pod(), other, node, delta, sets_) ? Verdict::ok() : Verdict::skip();
  }

  AffinityArgs args_;
  Labels labels_;
  Sets sets_;
  PodIndex pod_index_;
  const berth_nodes_v1* nodes_;
  void* ctx_;
  IdColumn label_set_;
  Namespaces namespaces_;
  AffinityHints hints_;
  DomainCache domains_;
  KeptByClass<RequiredCounter> required_{k_kept_bytes_max};
  KeptByClass<PreferredCounter> preferred_{k_kept_bytes_max};
};

}  // namespace
}  // namespace berth::inter_pod_affinity

BERTH_PLUGIN(berth::inter_pod_affinity::InterPodAffinity)
