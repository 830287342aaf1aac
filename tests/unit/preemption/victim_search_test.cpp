// SPDX-License-Identifier: Apache-2.0
#include "preemption/victim_search.hpp"

#include <random>

#include "support/seeds.hpp"
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

// Another, to which hardly two nodes are alike: violations, the priorities of the victims, and how late they started.
void rank_by_age(void*, const berth_victims_v1* nodes, std::uint32_t count, std::uint64_t* ranks) {
  for (std::uint32_t i = 0; i < count; ++i) {
    ranks[3 * i] = nodes[i].violations;
    ranks[3 * i + 1] = ranks[3 * i + 2] = 0;
    for (std::uint32_t v = 0; v < nodes[i].count; ++v) {
      if (nodes[i].evicted[v] == 0) continue;
      ranks[3 * i + 1] += static_cast<std::uint64_t>(nodes[i].pods[v].priority) + 1;
      ranks[3 * i + 2] = std::max(ranks[3 * i + 2], static_cast<std::uint64_t>(nodes[i].pods[v].start_ns));
    }
  }
}
const berth_str k_criteria_by_age[] = {key("violations"), key("priorities"), key("age")};
const berth_preemption_policy_v1 k_policy_by_age{sizeof(berth_preemption_policy_v1), 3, k_criteria_by_age, &importance,
                                                 &rank_by_age};

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
    return search_with(victims, priority, milli, review);
  }
  Found search_with(VictimSearch& search, std::int32_t priority, std::int64_t milli,
                    const CandidateReview& review = {}) {
    refresh();
    wanted_milli = milli;
    auto pod = make_pod("preemptor", "", milli);
    pod->priority = priority;
    framework::CycleContext& cycle = begin(pod, static_cast<std::uint64_t>(searched_as.value_or(milli)));
    if (exempt) cycle.show_exemption(&exempt);
    if (!nominated.empty()) cycle.show_nominated(&nominated);
    berth_preemption_request_v1 request{};
    request.struct_size = sizeof request;
    request.nodes = snapshot.nodes();
    request.word_count = snapshot.word_count();
    request.below_priority = priority;
    request.policy = policy;
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
    const VictimChoice& choice = search.run(cycle, request, nullptr, review, shown);
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
  const berth_preemption_policy_v1* policy = &k_policy;
  framework::EvictionExemption exempt;
  framework::NominatedPods nominated;
  std::optional<std::int64_t> searched_as;           // the class of the pod, in the place of its size
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

TEST(VictimSearch, AsksOnlyNodesThatHaveChangedWhenAPodOfTheClassAsksAgain) {
  SearchFixture f;
  for (int n = 0; n < 100; ++n) {
    const std::string node = "n" + std::to_string(n);
    f.add_node(node);
    f.put("pod-of-" + node, node, 0, 4000);
  }
  const auto asked = [&] { return f.victims.kept_counts().asked; };
  EXPECT_EQ(f.search(10, 3000), (Found{"n0", {"pod-of-n0"}}));
  EXPECT_EQ(f.victims.kept_counts().searches, 0U) << "one that asks once keeps nothing";
  EXPECT_EQ(f.search(10, 3000), (Found{"n0", {"pod-of-n0"}}));
  EXPECT_EQ(asked(), 100U);
  f.remove_pod("pod-of-n0");
  f.put("peer", "n0", 10, 4000);
  f.put("small", "n50", 0, 0);
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"pod-of-n1"}}));
  EXPECT_EQ(asked(), 102U) << "the two that changed";
  EXPECT_EQ(f.victims.last().candidates, 99U);
  EXPECT_EQ(f.victims.last().searched, 100U);
  EXPECT_EQ(f.victims.last().report(f.host).runner_up, "n2");
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"pod-of-n1"}}));
  EXPECT_EQ(asked(), 102U);

  f.search(5, 3000);  // another question
  f.search(5, 3000);
  EXPECT_EQ(asked(), 202U);
  f.profile.instances.front()->bump_epoch();
  f.search(10, 3000);
  EXPECT_EQ(asked(), 202U) << "an answer that was taken back is not kept at once";
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"pod-of-n1"}}));
  EXPECT_EQ(asked(), 302U);
  f.allow_disruptions(0);
  f.search(10, 3000);
  f.search(10, 3000);
  EXPECT_EQ(asked(), 402U) << "budgets are looked at for every node";
  EXPECT_EQ(f.victims.kept_counts().refuted, 0U);
}

TEST(VictimSearch, KeepsNothingWhereAFilterJudgesANodeByMoreThanTheNode) {
  SearchFixture f;
  f.profile.instances.front()->stop_reuse();
  f.add_node("n1");
  f.put("a", "n1", 0, 4000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"a"}}));
  EXPECT_EQ(f.victims.kept_counts().searches, 0U);
}

TEST(VictimSearch, KeptAnswersAreDroppedWhenANodeContradictsThem) {
  SearchFixture f;
  f.add_node("n1");
  f.add_node("n2");
  f.put("a", "n1", 0, 4000);
  f.put("b", "n2", 0, 4000);
  f.put("c", "n2", 0, 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"a"}}));
  f.searched_as = 3000;  // a filter that reads what makes no class
  EXPECT_EQ(f.search(10, 5000), (Found{"", {}, 0, "0/2 nodes are available: 2 Insufficient cpu."}));
  EXPECT_EQ(f.victims.kept_counts().refuted, 1U);
  f.searched_as.reset();
  EXPECT_EQ(f.search(10, 3000), (Found{"n1", {"a"}}));
}

TEST(VictimSearch, ARefutedAnswerIsNotRefutedForEver) {
  SearchFixture f;
  f.add_node("n1");
  f.put("a", "n1", 0, 4000);
  f.searched_as = 3000;  // a filter that reads what makes no class
  const Found room{"n1", {"a"}}, none{"", {}, 0, "0/1 nodes are available: 1 Insufficient cpu."};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(f.search(10, 3000), room);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f.search(10, 5000), none);
    EXPECT_EQ(f.search(10, 3000), room);
  }
  EXPECT_EQ(f.victims.kept_counts().refuted, 1U) << "nothing is kept for that question any more";
}

TEST(VictimSearch, AKeptAnswerThatIsVerifiedGivesWayToAFreshOneAndTheFilterIsNamed) {
  SearchFixture f;
  VictimSearch checked{f.host, f.budgets, AnswerReuse::verify};
  for (const char* node : {"n1", "n2", "n3"}) {
    f.add_node(node);
    f.put(std::string("pod-of-") + node, node, 0, 4000);
  }
  const auto search = [&](std::int64_t milli) { return f.search_with(checked, 10, milli); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search(3000), (Found{"n1", {"pod-of-n1"}}));
  EXPECT_TRUE(checked.changed_answers().empty());
  f.searched_as = 3000;  // a filter that reads what makes no class
  const framework::PluginInstance* const filter = f.profile.filter.front();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(search(5000), (Found{"", {}, 0, "0/3 nodes are available: 3 Insufficient cpu."}));
    ASSERT_EQ(checked.changed_answers().size(), 3U);
    const ChangedAnswer& no_more = checked.changed_answers().front();
    EXPECT_EQ(f.snapshot.row(no_more.slot).node->name, "n1");
    EXPECT_EQ(no_more.plugin, filter);
    EXPECT_EQ(no_more.kept.substr(0, 19), "evictions make room");
    EXPECT_EQ(no_more.fresh, "evictions make no room");
    EXPECT_EQ(search(3000), (Found{"n1", {"pod-of-n1"}}));
    ASSERT_EQ(checked.changed_answers().size(), 3U);
    EXPECT_EQ(checked.changed_answers().front().plugin, filter);
    EXPECT_EQ(checked.changed_answers().front().kept, "evictions make no room");
  }
  EXPECT_EQ(search(3000), (Found{"n1", {"pod-of-n1"}}));
  EXPECT_TRUE(checked.changed_answers().empty());
  EXPECT_EQ(checked.kept_counts().changed, 12U);
  EXPECT_EQ(checked.kept_counts().refuted, 0U);
}

TEST(VictimSearch, EverySearchNoticesThatABudgetHasChanged) {
  SearchFixture f;
  VictimSearch of_another_profile{f.host, f.budgets};
  f.add_node("n1");
  f.add_node("n2");
  f.put("protected", "n1", 0, 4000, true);
  f.put("a", "n2", 0, 2000);
  f.put("b", "n2", 0, 2000);
  for (const std::int64_t allowed : {0, 1, 0}) {
    f.allow_disruptions(allowed);
    const Found expected = allowed == 0 ? Found{"n2", {"a", "b"}} : Found{"n1", {"protected"}};
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(f.search(10, 3000), expected);
      EXPECT_EQ(f.search_with(of_another_profile, 10, 3000), expected);
    }
  }
}

/// Pods, nodes, budgets and nominations come, go and change: each search says what one that keeps nothing does. 100,000
/// changes, fewer under sanitizers.
TEST(VictimSearch, WhatIsKeptIsWhatAFreshSearchFinds) {
  constexpr int k_changes = 1'000;  // of a seed
  std::uint64_t kept = 0, found = 0, nodes_asked = 0, nodes_searched = 0;
  for (const std::uint32_t seed : tests::seeds()) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    std::mt19937 random(seed);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    SearchFixture f;
    f.policy = &k_policy_by_age;
    VictimSearch fresh{f.host, f.budgets, AnswerReuse::off};
    VictimSearch checked{f.host, f.budgets, AnswerReuse::verify};
    std::vector<std::string> nodes;
    std::vector<std::shared_ptr<model::Pod>> pods;
    int next = 0;
    const auto add_node = [&] {
      nodes.push_back("n" + std::to_string(next++));
      f.add_node(nodes.back());
    };
    const auto random_pod = [&](std::string name, const std::string& node) {
      auto pod = f.make_pod(std::move(name), node, 250 * (1 + pick(8)));
      pod->priority = pick(4);
      pod->start_ns = pick(3) == 0 ? 0 : 1 + pick(1'000);
      pod->deleting = pick(10) == 0;
      if (pick(3) == 0) pod->labels = {{f.symbols.intern("app"), f.symbols.intern("db")}};
      return pod;
    };
    for (int n = 3 + pick(8); n > 0; --n) add_node();
    f.allow_disruptions(pick(3));
    for (int change = 0; change < k_changes; ++change) {
      const int what = pick(100);
      if (what < 45 || pods.empty()) {
        auto pod = random_pod("p" + std::to_string(next++),
                              nodes[static_cast<std::size_t>(pick(static_cast<int>(nodes.size())))]);
        if (pods.size() < nodes.size() * 6) {
          f.add_pod(pod);
          pods.push_back(std::move(pod));
        }
      } else if (what < 70) {
        const auto at = pods.begin() + pick(static_cast<int>(pods.size()));
        f.remove_pod((*at)->name);
        pods.erase(at);
      } else if (what < 85) {
        auto& pod = pods[static_cast<std::size_t>(pick(static_cast<int>(pods.size())))];
        auto other = random_pod(pod->name, std::string(f.symbols.text(pod->node_name)));
        ASSERT_TRUE(f.cache.update_pod(other).ok());
        pod = std::move(other);
      } else if (what < 93) {
        auto node = f.make_node(nodes[static_cast<std::size_t>(pick(static_cast<int>(nodes.size())))]);
        node->allocatable[0].amount = 1'000 * (1 + pick(5));
        f.cache.update_node(node);
      } else if (what < 95) {
        add_node();
      } else if (what < 97 && nodes.size() > 3) {
        const std::string name = nodes.front();
        nodes.erase(nodes.begin());
        std::erase_if(pods, [&](const auto& pod) {
          if (f.symbols.text(pod->node_name) != name) return false;
          f.remove_pod(pod->name);
          return true;
        });
        f.remove_node(name);
      } else {
        f.allow_disruptions(pick(3));
      }
      f.refresh();
      f.nominated.clear();
      if (pick(4) == 0) {
        auto pod = random_pod("nominated", "");
        f.nominated[f.slot(nodes[static_cast<std::size_t>(pick(static_cast<int>(nodes.size())))])] = {pod};
      }
      const std::int32_t priority = 1 + pick(2) * 3;
      const std::int64_t milli = 1'000 * (1 + pick(3));
      const Found by_kept = f.search(priority, milli);
      const std::uint32_t candidates = f.victims.last().candidates, searched = f.victims.last().searched;
      const Found by_fresh = f.search_with(fresh, priority, milli);
      ASSERT_EQ(by_kept, by_fresh) << "change " << change;
      ASSERT_EQ(candidates, fresh.last().candidates) << "change " << change;
      ASSERT_EQ(searched, fresh.last().searched) << "change " << change;
      if (change % 4 == 0) {
        ASSERT_EQ(f.search_with(checked, priority, milli), by_fresh) << "change " << change;
        ASSERT_TRUE(checked.changed_answers().empty()) << "change " << change;
      }
      found += by_kept.node.empty() ? 0 : 1;
      nodes_searched += searched;
    }
    kept += f.victims.kept_counts().searches;
    nodes_asked += f.victims.kept_counts().asked;
    EXPECT_EQ(f.victims.kept_counts().refuted, 0U);
    EXPECT_EQ(fresh.kept_counts().searches, 0U);
  }
  EXPECT_GT(kept, 500U * (tests::are_few_seeds() ? 1U : 100U)) << "hardly anything is kept";
  EXPECT_GT(found, kept / 4) << "too little room is made";
  EXPECT_LT(nodes_asked, nodes_searched * 3 / 4) << "nodes are asked though they have not changed";
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
