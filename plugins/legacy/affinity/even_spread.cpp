// SPDX-License-Identifier: Apache-2.0
// EvenPodsSpread and EvenPodsSpreadPriority: matching pods spread evenly over the domains of topology keys.
//
// Decides: the predicate keeps a domain's count, with the pod itself, within the skew of the lowest count. The priority
//          adds up, per candidate, the counts of its domains; the highest score goes to the candidate with the least,
//          and the sum over all candidates is what the scale ends at.
// Source:  kubernetes v1.16 pkg/scheduler/algorithm (EvenPodsSpread).
#include "even_spread.hpp"

#include "../prepared.hpp"
#include "../v1_16_args.hpp"
#include "pod_tally.hpp"

namespace berth::legacy {
namespace {

constexpr std::uint32_t k_cluster_deps = k_usage_deps | BERTH_DEP_OTHER_NODES;
constexpr std::uint32_t k_pod_fields =
    BERTH_POD_SPREAD | BERTH_POD_LABELS | BERTH_POD_NAMESPACE | BERTH_POD_NODE_SELECTION;

NodeFacts facts_of(Setup& setup) {
  const NodeColumns columns = setup.service<NodeColumns>();
  const Intern intern = setup.service<Intern>();
  return {setup.service<Labels>(), setup.service<Sets>(), intern,       NodeMatcher(intern),
          &columns.table(),        columns.ctx(),         setup.name(), setup.taint_set()};
}

class EvenPodsSpread {
 public:
  struct State {
    EvenState counts;
  };

  // Not reentrant: label tables are kept between cycles.
  static constexpr Identity identity =
      identity_of("EvenPodsSpread", "Keeps the number of matching pods per domain within a skew.", k_cluster_deps);
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{"node(s) didn't match pod topology spread constraints", "TopologySpread"}};
  static constexpr const char* services[] = {Intern::id, Labels::id, Sets::id, PodIndex::id, NodeColumns::id};
  static constexpr Interest interests[] = {
      always(BERTH_KIND_POD, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_POD_LABEL | BERTH_ACTION_DELETE),
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit EvenPodsSpread(Setup& setup) : facts_(facts_of(setup)), pods_(setup.service<PodIndex>()) {
    setup.pod_fields(k_pod_fields);
  }

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& out) {
    auto counts = std::make_shared<EvenCounts>(rules_of(cycle, BERTH_SPREAD_DO_NOT_SCHEDULE, facts_, domains_));
    if (counts->rules.empty()) return Verdict::skip();
    const Bitmap counted = counted_nodes(cycle, *counts, facts_);
    for (std::size_t w = 0; w < counted.size(); ++w)
      each_bit(counted[w], [&](std::uint32_t bit) { observe(*counts, static_cast<Slot>(w * 64 + bit)); });
    count_pods(pods_, cycle, counts->ns, counted, *counts);
    out.make(State{EvenState(std::move(counts))});
    return Verdict::ok();
  }
  Verdict pod_added(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, 1); }
  Verdict pod_removed(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, -1); }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    prepared<State>(cycle, "preFilter").counts.filter(cycle.pod(), block, unschedulable(1));
  }

 private:
  static Verdict move_pod(const Cycle& cycle, Pod other, Slot node, std::int64_t delta) {
    if (State* state = cycle.state<State>()) state->counts.move_pod(other, node, delta);
    return Verdict::ok();
  }

  NodeFacts facts_;
  PodIndex pods_;
  DomainCache domains_;
};

class EvenPodsSpreadPriority {
 public:
  struct State {
    std::vector<std::int64_t> counts;  // by slot
    Bitmap eligible;                   // candidates with all keys
  };

  static constexpr Identity identity =
      identity_of("EvenPodsSpreadPriority", "Prefers domains with fewer matching pods.", k_cluster_deps);
  static constexpr const char* args_schema = k_score_args;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr const char* services[] = {Intern::id, Labels::id, Sets::id, PodIndex::id, NodeColumns::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit EvenPodsSpreadPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())), facts_(facts_of(setup)), pods_(setup.service<PodIndex>()) {
    setup.pod_fields(k_pod_fields);
  }

  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    State& state = out.make();
    state.counts.assign(cycle.slot_count(), 0);
    state.eligible.assign(cycle.nodes().size(), 0);
    EvenCounts counts = rules_of(cycle, BERTH_SPREAD_SCHEDULE_ANYWAY, facts_, domains_);
    if (counts.rules.empty()) return Verdict::ok();
    for (const Slot slot : out.nodes())
      if (pod_topology_spread::test(counts.with_all_keys, slot))
        state.eligible[slot / 64] |= std::uint64_t{1} << (slot & 63);
    count_pods(pods_, cycle, 0, counted_nodes(cycle, counts, facts_), counts);
    for (std::size_t w = 0; w < state.eligible.size(); ++w) {
      each_bit(state.eligible[w], [&](std::uint32_t bit) {
        const auto slot = static_cast<Slot>(w * 64 + bit);
        for (const EvenRule& rule : counts.rules) {
          const EvenKey& key = counts.keys[rule.key];
          state.counts[slot] += key.counts[key.domains->at(slot)];
        }
      });
    }
    return Verdict::ok();
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    score_tally(prepared<State>(cycle, "preScore").counts, block);
  }

  void normalize(const Cycle& cycle, std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    const State& state = prepared<State>(cycle, "preScore");
    std::int64_t total = 0;
    std::int64_t least = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!pod_topology_spread::test(state.eligible, nodes[i])) continue;
      total += scores[i];
      least = std::min(least, scores[i]);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!pod_topology_spread::test(state.eligible, nodes[i])) {
        scores[i] = 0;
      } else if (total == least) {
        scores[i] = max_score_;
      } else {
        scores[i] =
            static_cast<std::int64_t>(static_cast<double>(max_score_) *
                                      (static_cast<double>(total - scores[i]) / static_cast<double>(total - least)));
      }
    }
  }

 private:
  std::int64_t max_score_;
  NodeFacts facts_;
  PodIndex pods_;
  DomainCache domains_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_even_spread, berth::legacy::EvenPodsSpread, berth::legacy::EvenPodsSpreadPriority)
