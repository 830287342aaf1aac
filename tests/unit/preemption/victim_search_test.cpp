// SPDX-License-Identifier: Apache-2.0
#include "preemption/victim_search.hpp"

#include "unit/framework/framework_fixture.hpp"

namespace berth::preemption {
namespace {

using framework::testing::FakePlugin;
using framework::testing::FrameworkFixture;
using framework::testing::key;
using Names = std::vector<std::string>;

// A policy: the pod of higher priority matters more; the fewest violations win, then the fewest victims.
void importance(void*, const berth_victim_v1* pods, std::uint32_t count, std::uint64_t* keys) {
  for (std::uint32_t i = 0; i < count; ++i) {
    keys[2 * i] = static_cast<std::uint64_t>(1'000'000 - pods[i].priority);
    keys[2 * i + 1] = 0;
  }
}
void rank(void*, const berth_victims_v1* nodes, std::uint32_t count, std::uint64_t* ranks) {
  for (std::uint32_t i = 0; i < count; ++i) {
    ranks[2 * i] = nodes[i].violations;
    ranks[2 * i + 1] = 0;
    for (std::uint32_t v = 0; v < nodes[i].count; ++v) ranks[2 * i + 1] += nodes[i].evicted[v];
  }
}
const berth_str k_criteria[] = {key("violations"), key("victims")};
const berth_preemption_policy_v1 k_policy{sizeof(berth_preemption_policy_v1), 2, k_criteria, &importance, &rank};

struct Found {
  std::string node;    // empty: none
  Names victims = {};  // most important first
  std::uint32_t violations = 0;
  std::string text = {};  // why none was found
  friend bool operator==(const Found&, const Found&) = default;
};
void PrintTo(const Found& found, std::ostream* out) {
  *out << found.node << " " << ::testing::PrintToString(found.victims) << " " << found.violations << " " << found.text;
}

/// Nodes of 4 CPUs, a filter for free CPU, pods of one CPU each unless something else is said.
struct SearchFixture : FrameworkFixture {
  SearchFixture() {
    FakePlugin& fits = make_plugin("Fits");
    fits.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE;
    fits.reasons = {"Insufficient cpu"};
    fits.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
      binder.column(binder.ctx, BERTH_COL_FREE, key("cpu"));
      return BERTH_OK;
    };
    fits.filter = [this](const berth_cycle_v1&, const berth_node_block_v1& block, berth_filter_out_v1& out,
                         berth_note_v1*) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        if (static_cast<const std::int64_t*>(block.columns[0])[row] >= wanted_milli) continue;
        out.pass[row / 64] &= ~(std::uint64_t{1} << (row % 64));
        if (out.reasons != nullptr) out.reasons[row] = 1;
      }
      return BERTH_OK;
    };
    add(fits);
  }
  void put(const std::string& name, const std::string& node, std::int32_t priority, std::int64_t milli = 1000,
           bool is_protected = false) {
    auto pod = make_pod(name, node, milli);
    pod->priority = priority;
    if (is_protected) pod->labels = {{symbols.intern("app"), symbols.intern("db")}};
    add_pod(pod);
  }
  /// What has to go for a pod of that priority and size.
  Found search(std::int32_t priority, std::int64_t milli = 1000, const CandidateReview& review = {}) {
    refresh();
    wanted_milli = milli;
    auto pod = make_pod("preemptor", "", milli);
    pod->priority = priority;
    framework::CycleContext& cycle = begin(pod);
    if (exempt) cycle.show_exemption(&exempt);
    berth_preemption_request_v1 request{};
    request.struct_size = sizeof request;
    request.nodes = snapshot.nodes();
    request.word_count = snapshot.word_count();
    request.below_priority = priority;
    request.policy = &k_policy;
    request.no_victims = key("no pods to evict");
    request.not_searched = key("not searched");
    if (lets_go) {
      request.below_priority = INT64_MAX;
      request.may_go = [](void* arg, const berth_pod_v1* asked, berth_slot) -> std::uint32_t {
        auto& self = *static_cast<SearchFixture*>(arg);
        self.asked_about.push_back(std::string(framework::from_abi(asked->name)));
        return self.lets_go(*asked) ? 1 : 0;
      };
      request.may_go_arg = this;
    }
    framework::PodFields shown;
    shown.groups = BERTH_POD_IDENTITY | BERTH_POD_LABELS | BERTH_POD_PRIORITY;
    const VictimChoice& choice = victims.run(cycle, request, nullptr, review, shown);
    if (choice.outcome != VictimChoice::Outcome::found) return {"", {}, 0, choice.text};
    Found found{snapshot.row(choice.best->slot).node->name, {}, choice.best->violations, ""};
    for (const cache::PodHandle handle : choice.best->victims) found.victims.push_back(cache.pod(handle)->name);
    return found;
  }

  /// A budget for pods of app=db that allows so many disruptions.
  void allow_disruptions(std::int64_t count) {
    allowed = count;
    objects.apply({std::string(k_budget_resource), "default", "db", "uid-db", std::to_string(++version), "{}"});
  }

  std::int64_t wanted_milli = 1000, allowed = 0;
  int version = 0;
  framework::EvictionExemption exempt;
  std::function<bool(const berth_pod_v1&)> lets_go;  // of the policy, in the place of priorities
  std::vector<std::string> asked_about;
  DisruptionBudgets budgets{
      objects, [this](const framework::Projection&) {
        DisruptionBudget budget;
        budget.ns = symbols.intern("default");
        budget.selector.kind = model::Selector::Kind::match;
        budget.selector.requirements = {{symbols.intern("app"), model::Operator::in, {symbols.intern("db")}, 0}};
        budget.allowed = allowed;
        return budget;
      }};
  VictimSearch victims{host, budgets};
};

TEST(VictimSearch, EvictsTheLeastImportantPodsThatMakeRoom) {
  SearchFixture f;
  f.add_node("n1");
  f.put("high", "n1", 8);
  f.put("low", "n1", 1);
  f.put("middle", "n1", 5);
  f.put("lowest", "n1", 0);
  EXPECT_EQ(f.search(10), (Found{"n1", {"lowest"}}));
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"middle", "low", "lowest"}}));
}

TEST(VictimSearch, LeavesPodsOfTheSameOrHigherPriorityAlone) {
  SearchFixture f;
  f.add_node("n1");
  f.put("peer", "n1", 10, 4000);
  EXPECT_EQ(f.search(10), (Found{"", {}, 0, "0/1 nodes are available: 1 no pods to evict."}));
}

TEST(VictimSearch, EvictsWhatThePolicyLetsGoWhateverItsPriority) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("important", "n1", 100, 2000, true);
  f.put("low", "n1", 0, 2000);
  f.put("other", "n2", 0, 4000);
  f.lets_go = [](const berth_pod_v1& pod) { return pod.label_count == 1; };  // app=db
  EXPECT_EQ(f.search(10, 2000), (Found{"n1", {"important"}}));
  std::sort(f.asked_about.begin(), f.asked_about.end());
  EXPECT_EQ(f.asked_about, (std::vector<std::string>{"important", "low", "other"})) << "once each";
  f.lets_go = [](const berth_pod_v1& pod) { return pod.priority > 1000; };
  EXPECT_EQ(f.search(10, 2000), (Found{"", {}, 0, "0/2 nodes are available: 2 no pods to evict."}));
}

TEST(VictimSearch, SaysWhyEvictionsDoNotHelp) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("peer", "n1", 10, 3000);
  f.put("low", "n1", 0);
  f.put("alone", "n2", 10, 4000);
  EXPECT_EQ(f.search(10, 2000), (Found{"", {}, 0, "0/2 nodes are available: 1 Insufficient cpu, 1 no pods to evict."}));
}

TEST(VictimSearch, ChoosesTheNodeThatThePolicyRanksFirstAndTheEarlierOfEquals) {
  SearchFixture f;
  for (const char* node : {"n1", "n2", "n3"}) f.add_node(node);
  f.put("a", "n1", 0, 2000);
  f.put("b", "n1", 0, 2000);
  f.put("c", "n2", 0, 4000);
  f.put("d", "n3", 0, 4000);
  EXPECT_EQ(f.search(10, 3000), (Found{"n2", {"c"}}));
}

TEST(VictimSearch, PrefersANodeWhereNoBudgetIsViolated) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("protected", "n1", 0, 4000, true);
  f.put("a", "n2", 0, 2000);
  f.put("b", "n2", 0, 2000);
  f.allow_disruptions(0);
  EXPECT_EQ(f.search(10, 3000), (Found{"n2", {"a", "b"}}));
  f.allow_disruptions(1);
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"protected"}}));
}

TEST(VictimSearch, CountsVictimsBeyondABudget) {
  SearchFixture f;
  f.add_node("n1");
  f.put("a", "n1", 0, 2000, true);
  f.put("b", "n1", 0, 2000, true);
  f.allow_disruptions(1);
  EXPECT_EQ(f.search(10, 4000).violations, 1u);
}

TEST(VictimSearch, EvictsNoPodThatIsExempt) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("member", "n1", 0, 4000);
  f.put("a", "n2", 0, 2000);
  f.put("b", "n2", 0, 2000);
  f.exempt = [](const model::Pod& pod) { return pod.name == "member" ? "of the same group" : nullptr; };
  EXPECT_EQ(f.search(10, 3000), (Found{"n2", {"a", "b"}}));
  f.remove_pod("a");
  f.remove_pod("b");
  f.remove_node("n2");
  EXPECT_EQ(f.search(10, 3000).text, "pod default/member of the same group would have to go, and stays");
}

TEST(VictimSearch, AReviewMayDropCandidatesAndEndTheSearch) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("a", "n1", 0, 4000);
  f.put("b", "n2", 0, 4000);
  const auto all_but_the_first = [](framework::Host&, const model::Pod&, std::vector<Candidate>& candidates) {
    candidates.erase(candidates.begin());
    return Status(Unit{});
  };
  EXPECT_EQ(f.search(10, 3000, all_but_the_first), (Found{"n2", {"b"}}));
  const auto fails = [](framework::Host&, const model::Pod&, std::vector<Candidate>&) {
    return Status(Error{"no answer"});
  };
  EXPECT_EQ(f.search(10, 3000, fails), (Found{"", {}, 0, "no answer"}));
}

TEST(VictimSearch, RemembersNothingOfTheSearchBefore) {
  SearchFixture f;
  f.add_node("n1");
  f.put("a", "n1", 0, 4000);
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"a"}}));
  EXPECT_EQ(f.search(0, 3000), (Found{"", {}, 0, "0/1 nodes are available: 1 no pods to evict."}));
  f.remove_pod("a");
  f.put("b", "n1", 0, 2000);
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"b"}}));
}

TEST(VictimSearch, ReportsTheChoiceAndTheNextBestNode) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("a", "n1", 3, 4000);
  f.put("b", "n2", 0, 2000);
  f.put("c", "n2", 0, 2000);
  f.search(10, 4000);
  EXPECT_EQ(f.victims.last().report(f.host).sentence(),
            "evicts default/a (priority 3) from n1, without violating a disruption budget; the best of 2 nodes where "
            "evictions make room; next best is n2, behind by: victims");
}

}  // namespace
}  // namespace berth::preemption
