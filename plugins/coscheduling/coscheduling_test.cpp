// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <berth/testkit/cluster.hpp>

#include "group_records.hpp"
#include "pod_group.hpp"
#include "resource_gap.hpp"

namespace {
using namespace berth::testkit;

constexpr std::int64_t k_second = 1'000'000'000;
constexpr const char* k_args =
    R"({"permitWaitingTimeSeconds":60,"podGroupBackoffSeconds":0,"podGroupRejectPercentage":10})";
constexpr const char* k_backoff_args =
    R"({"permitWaitingTimeSeconds":60,"podGroupBackoffSeconds":4,"podGroupRejectPercentage":10})";

/// Shorthand for the calls of one policy and the objects behind it.
struct Gangs {
  explicit Gangs(const char* args = k_args, void (*install)(FakeHost&) = FakeCluster::install)
      : policy(tested_library(), args, install) {}

  FakeCluster& cluster() { return FakeCluster::of(policy); }
  /// min 0: not written. created: second within 2026-01-01T00:00.
  void group(const std::string& name, std::int64_t min, int created = 0, const std::string& resources = "",
             const std::string& timeout = "") {
    char time[32];
    std::snprintf(time, sizeof time, "2026-01-01T00:00:%02dZ", created);
    FieldText minimum(min == 0 ? "" : std::to_string(min)), wait(timeout);
    minimum.number = min;
    wait.number = timeout.empty() ? 0 : std::stoll(timeout);
    cluster().put("scheduling.x-k8s.io/v1alpha1/podgroups", "default", name, {time, minimum, resources, wait});
  }
  static PodSpec pod(const std::string& name, const std::string& group, const std::string& node = "") {
    PodSpec spec{.name = name, .node_name = node};
    if (!group.empty()) spec.labels["scheduling.x-k8s.io/pod-group"] = group;
    return spec;
  }
  void members(const std::string& group, int assigned, int ready, int gated = 0) {
    auto& list = cluster().groups[{"default", group}];
    list.clear();
    for (int i = 0; i < assigned; ++i) list.push_back({pod(group + "-a" + std::to_string(i), group, "n")});
    for (int i = 0; i < ready; ++i) list.push_back({pod(group + "-r" + std::to_string(i), group)});
    for (int i = 0; i < gated; ++i) {
      list.push_back({pod(group + "-g" + std::to_string(i), group)});
      list.back().pod.gates = {"later"};
    }
  }

  struct Asked {
    Outcome outcome;
    std::uint32_t needed, hold_ms;
  };
  Asked quorum(const PodSpec& spec) {
    PodRecord record(policy.host(), spec, BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT);
    berth_quorum_v1 out{sizeof out, 0, 0, 0};
    NoteRecord note;
    const berth_code code =
        policy.ops<berth_group_ops_v1>("berth.groups/1")->quorum(policy.self(), record.raw(), &out, note.raw());
    return {policy.outcome(code, note), out.needed, out.hold_ms};
  }
  std::string group_of(const PodSpec& spec) {
    PodRecord record(policy.host(), spec, BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT);
    berth_str name{};
    NoteRecord note;
    const berth_code code =
        policy.ops<berth_group_ops_v1>("berth.groups/1")->group_of(policy.self(), record.raw(), &name, note.raw());
    return code == BERTH_OK ? text_of(name) : "cannot be told";
  }
  Outcome post_filter(const PodSpec& spec) {
    Attempt attempt(policy, spec, {{.name = "n"}});
    std::uint64_t none = 0;
    const berth_post_filter_in_v1 in{sizeof in, 0, &none, &none, 1};
    berth_post_filter_out_v1 out{sizeof out, BERTH_NOMINATE_KEEP, BERTH_NO_SLOT, 0, nullptr, nullptr};
    NoteRecord note;
    const auto* ops = policy.ops<berth_post_filter_ops_v1>("berth.post_filter/1");
    return policy.outcome(ops->post_filter(policy.self(), attempt.cycle(), &in, &out, note.raw()), note);
  }
  Outcome permit(const PodSpec& spec) {
    Attempt attempt(policy, spec, {{.name = "n"}});
    berth_permit_out_v1 out{sizeof out, 0};
    NoteRecord note;
    const auto* ops = policy.ops<berth_permit_ops_v1>("berth.permit/1");
    return policy.outcome(ops->permit(policy.self(), attempt.cycle(), 0, &out, note.raw()), note);
  }
  /// Whether a comes before b, as the host compares: by key, then by less().
  bool before(const PodSpec& a, std::int64_t a_first_ns, const PodSpec& b, std::int64_t b_first_ns) {
    const auto ka = policy.queue_key(a, 0, a_first_ns), kb = policy.queue_key(b, 0, b_first_ns);
    if (ka != kb) return ka < kb;
    PodRecord pa(policy.host(), a), pb(policy.host(), b);
    const berth_queue_pod_v1 qa{sizeof qa, 1, 0, pa.raw(), a_first_ns}, qb{sizeof qb, 1, 0, pb.raw(), b_first_ns};
    return policy.ops<berth_queue_ops_v1>("berth.queue/1")->less(policy.self(), &qa, &qb) != 0;
  }

  Policy policy;
};

const std::int64_t k_new_year = coscheduling::parse_time_ns("2026-01-01T00:00:00Z");
constexpr std::int64_t at(double second) { return static_cast<std::int64_t>(second * 1e9); }
std::int64_t on(double second) { return k_new_year + at(second); }

TEST(PodGroupTime, IsReadFromTheFormOfTheApi) {
  EXPECT_EQ(coscheduling::parse_time_ns("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(coscheduling::parse_time_ns("1970-01-02T00:00:01Z"), 86'401 * k_second);
  EXPECT_EQ(coscheduling::parse_time_ns("2024-02-29T12:00:00Z"), 1'709'208'000 * k_second);
  EXPECT_EQ(coscheduling::parse_time_ns("2024-03-01T00:00:00Z"), 1'709'251'200 * k_second);
  for (const char* text : {"", "2024-02-29", "2024-02-29T12:00:00+01", "2024-13-01T00:00:00Z", "20x4-02-29T12:00:00Z"})
    EXPECT_EQ(coscheduling::parse_time_ns(text), 0) << text;
}

TEST(Quantity, IsReadInEveryForm) {
  struct Case {
    const char* text;
    std::int64_t scale;
    std::optional<std::int64_t> want;
  };
  for (const Case& c : std::vector<Case>{{"6", 1000, 6000},
                                         {"500m", 1000, 500},
                                         {"1.5", 1000, 1500},
                                         {"0.1", 1000, 100},
                                         {"64Gi", 1, 68'719'476'736},
                                         {"1k", 1, 1000},
                                         {"1e3", 1, 1000},
                                         {"12E-1", 1000, 1200},
                                         {"1n", 1, 1},
                                         {"-2", 1, -2},
                                         {"+2", 1, 2},
                                         {"1Ei", 1, 1LL << 60},
                                         {"", 1, {}},
                                         {"x", 1, {}},
                                         {"1x", 1, {}},
                                         {"1e", 1, {}},
                                         {"1e99", 1, {}},
                                         {"99E", 1, {}}})
    EXPECT_EQ(coscheduling::parse_quantity(c.text, c.scale), c.want) << c.text;
}

TEST(Membership, IsTheLabelInThePodsNamespace) {
  Gangs gangs;
  EXPECT_EQ(gangs.group_of(Gangs::pod("p", "g")), "g");
  EXPECT_EQ(gangs.group_of(Gangs::pod("p", "")), "");
  PodSpec old = Gangs::pod("p", "");
  old.labels["pod-group.scheduling.sigs.k8s.io"] = "g";
  EXPECT_EQ(gangs.group_of(old), "");
  Attempt attempt(gangs.policy, old, {{.name = "n"}});
  EXPECT_EQ(attempt.pre_filter(), Outcome{});
  ASSERT_EQ(gangs.policy.host().log.size(), 1u);
  EXPECT_EQ(gangs.policy.host().log[0].message,
            "pod default/p: label pod-group.scheduling.sigs.k8s.io is not read, use scheduling.x-k8s.io/pod-group");
}

TEST(Order, PriorityComesFirst) {
  Gangs gangs;
  gangs.group("young", 1, 30);
  PodSpec important = Gangs::pod("b", "young");
  important.priority = 100;
  PodSpec plain = Gangs::pod("a", "");
  plain.priority = 10;
  EXPECT_TRUE(gangs.before(important, on(50), plain, on(1)));
  PodSpec negative = Gangs::pod("c", "");
  negative.priority = -1;
  EXPECT_TRUE(gangs.before(Gangs::pod("d", ""), on(50), negative, on(1)));
}

TEST(Order, ThenTheWholeSecondOfTheGroupAgainstTheFirstAttemptOfPlainPods) {
  Gangs gangs;
  gangs.group("g", 1, 0);
  gangs.group("h", 1, 5);
  EXPECT_TRUE(gangs.before(Gangs::pod("z", "g"), on(9), Gangs::pod("a", ""), on(0.1)));
  EXPECT_TRUE(gangs.before(Gangs::pod("z", "g"), on(9), Gangs::pod("a", "h"), on(1)));
  EXPECT_TRUE(gangs.before(Gangs::pod("z", "missing"), on(4), Gangs::pod("a", "h"), on(1)));
}

TEST(Order, ThenThePodsNameByteForByte) {
  Gangs gangs;
  gangs.group("g", 1, 0);
  gangs.group("h", 1, 0);
  EXPECT_TRUE(gangs.before(Gangs::pod("g-10", "g"), on(1), Gangs::pod("g-2", "g"), on(1)));
  EXPECT_TRUE(gangs.before(Gangs::pod("p1", "g"), on(1), Gangs::pod("p2", "h"), on(1)));
  EXPECT_FALSE(gangs.before(Gangs::pod("p3", "g"), on(1), Gangs::pod("p2", "h"), on(1)));
  // Beyond what fits into the key, and where one name is the beginning of the other.
  EXPECT_TRUE(
      gangs.before(Gangs::pod("a-rather-long-name-1", "g"), on(1), Gangs::pod("a-rather-long-name-2", "g"), on(1)));
  EXPECT_TRUE(gangs.before(Gangs::pod("p", "g"), on(1), Gangs::pod("p1", "g"), on(1)));
  EXPECT_TRUE(
      gangs.before(Gangs::pod("a-rather-long-name", "g"), on(1), Gangs::pod("a-rather-long-name-2", "g"), on(1)));
}

TEST(Order, AFailedGroupCountsFromItsFailureUntilItReachesItsQuorum) {
  Gangs gangs;
  gangs.group("g", 2, 0);
  gangs.group("h", 1, 5);
  gangs.members("g", 0, 2);
  gangs.cluster().now_ns = on(60);
  EXPECT_EQ(gangs.post_filter(Gangs::pod("p", "g")).code, BERTH_UNSCHEDULABLE);
  EXPECT_FALSE(gangs.before(Gangs::pod("p", "g"), on(1), Gangs::pod("q", "h"), on(1)));
  gangs.members("g", 2, 0);
  EXPECT_EQ(gangs.permit(Gangs::pod("p", "g")), Outcome{});
  EXPECT_TRUE(gangs.before(Gangs::pod("p", "g"), on(1), Gangs::pod("q", "h"), on(1)));
}

struct QuorumCase {
  const char* name;
  int min, assigned, ready, gated;
  std::uint32_t needed;
  const char* text;
};
class Quorums : public testing::TestWithParam<QuorumCase> {};
TEST_P(Quorums, CountWhatIsThere) {
  const QuorumCase& c = GetParam();
  Gangs gangs;
  gangs.group("g", c.min);
  gangs.members("g", c.assigned, c.ready, c.gated);
  const Gangs::Asked asked = gangs.quorum(Gangs::pod("p", "g"));
  EXPECT_EQ(asked.outcome.text, c.text);
  EXPECT_EQ(asked.outcome.code, *c.text == '\0' ? BERTH_OK : BERTH_UNRESOLVABLE);
  EXPECT_EQ(asked.needed, c.needed);
}
INSTANTIATE_TEST_SUITE_P(
    All, Quorums,
    testing::ValuesIn(std::vector<QuorumCase>{
        {"AllReady", 3, 0, 3, 0, 3, ""},
        {"MoreThanNeeded", 3, 0, 5, 0, 3, ""},
        {"SomeAssigned", 3, 2, 1, 0, 1, ""},
        {"QuorumStands", 3, 3, 2, 0, 0, ""},
        {"NoMinimum", 0, 0, 2, 0, 0, ""},
        {"TooFew", 3, 1, 1, 0, 0,
         "pre-filter pod p cannot find enough sibling pods, current pods number: 2, minMember of group: 3"},
        {"Gated", 2, 0, 1, 1, 0, "pre-filter pod p cannot proceed due to gated pods in the same PodGroup"},
        {"TooFewEvenWithoutGates", 4, 0, 1, 1, 0,
         "pre-filter pod p cannot find enough sibling pods, current pods number: 2, minMember of group: 4"}}),
    [](const auto& instance) { return instance.param.name; });

TEST(Quorum, LeavesOutWhoIsBeingDeletedOrScheduledByOthers) {
  Gangs gangs;
  gangs.group("g", 2);
  auto& members = gangs.cluster().groups[{"default", "g"}];
  members = {{Gangs::pod("a", "g")}, {Gangs::pod("b", "g"), true, false}, {Gangs::pod("c", "g"), false, true}};
  EXPECT_EQ(gangs.quorum(Gangs::pod("a", "g")).outcome.code, BERTH_UNRESOLVABLE);
  members[2].pod.node_name = "n";
  EXPECT_EQ(gangs.quorum(Gangs::pod("a", "g")).needed, 1u);
}

TEST(Quorum, NeedsThePodGroup) {
  Gangs gangs;
  gangs.members("g", 0, 2);
  EXPECT_EQ(gangs.quorum(Gangs::pod("p", "g")).outcome, (Outcome{BERTH_UNSCHEDULABLE, "PodGroup not found"}));
  EXPECT_EQ(gangs.permit(Gangs::pod("p", "g")), (Outcome{BERTH_UNSCHEDULABLE, "PodGroup not found"}));
}

TEST(Quorum, HoldsForAsLongAsTheGroupOrTheArgsSay) {
  for (const auto& [timeout, want] : std::vector<std::pair<std::string, std::uint32_t>>{
           {"", 60'000}, {"20", 20'000}, {"0", 60'000}, {"-5", 1}, {"100000", 900'000}}) {
    Gangs gangs;
    gangs.group("g", 2, 0, "", timeout);
    gangs.members("g", 0, 2);
    EXPECT_EQ(gangs.quorum(Gangs::pod("p", "g")).hold_ms, want) << timeout;
  }
}

TEST(PostFilter, SpeaksOnlyAboutGroupsWithoutQuorum) {
  Gangs gangs;
  gangs.group("g", 2);
  gangs.members("g", 1, 2);
  const Outcome silent{BERTH_UNSCHEDULABLE, ""};
  EXPECT_EQ(gangs.post_filter(Gangs::pod("plain", "")), silent);
  EXPECT_EQ(gangs.post_filter(Gangs::pod("p", "missing")), silent);
  EXPECT_EQ(gangs.post_filter(Gangs::pod("p", "g")),
            (Outcome{BERTH_UNSCHEDULABLE,
                     "PodGroup default/g gets rejected due to Pod p is unschedulable even after PostFilter"}));
  gangs.members("g", 2, 1);
  EXPECT_EQ(gangs.post_filter(Gangs::pod("p", "g")), silent);
}

TEST(Permit, UndoesAPlanWhoseQuorumWasRaised) {
  Gangs gangs;
  gangs.group("g", 3);
  gangs.members("g", 2, 0);
  EXPECT_EQ(gangs.permit(Gangs::pod("p", "g")).code, BERTH_UNSCHEDULABLE);
  EXPECT_EQ(gangs.permit(Gangs::pod("plain", "")), Outcome{});
}

TEST(Backoff, HoldsTheGroupAndWakesItOnceWhenSomethingHappened) {
  Gangs gangs(k_backoff_args);
  gangs.group("g", 2);
  gangs.members("g", 0, 2);
  EXPECT_EQ(gangs.post_filter(Gangs::pod("g-r0", "g")).code, BERTH_UNSCHEDULABLE);
  EXPECT_TRUE(gangs.cluster().tasks.empty());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(gangs.quorum(Gangs::pod("g-r0", "g")).outcome,
              (Outcome{BERTH_UNRESOLVABLE, "podGroup default/g failed recently"}));
  ASSERT_EQ(gangs.cluster().tasks.size(), 1u);
  ASSERT_TRUE(gangs.cluster().run_next_task());
  EXPECT_EQ(gangs.cluster().activated, (std::vector<std::string>{"g-r0-uid", "g-r1-uid"}));
  EXPECT_EQ(gangs.quorum(Gangs::pod("g-r0", "g")).needed, 2u);
}

TEST(Backoff, IsNotBegunByAGroupThatIsNotThere) {
  Gangs gangs(k_backoff_args);
  gangs.group("g", 3);
  gangs.members("g", 0, 2);
  gangs.post_filter(Gangs::pod("g-r0", "g"));
  gangs.members("g", 0, 3);
  EXPECT_EQ(gangs.quorum(Gangs::pod("g-r0", "g")).needed, 3u);
}

TEST(Backoff, AsksForAnotherWakeWhenTheHostDidNotTakeTheFirst) {
  static bool refuses;
  refuses = true;
  Gangs gangs(k_backoff_args, [](FakeHost& host) {
    FakeCluster::install(host);
    static berth_executor_v1 executor;
    static decltype(executor.start) takes;
    executor = *static_cast<const berth_executor_v1*>(host.extra_services["berth.executor/1"]);
    takes = executor.start;
    executor.start = [](void* ctx, std::uint32_t delay_ms, std::uint32_t period_ms, void (*task)(void*), void* arg,
                        std::uint64_t* handle) -> berth_code {
      return refuses ? static_cast<berth_code>(BERTH_ERROR) : takes(ctx, delay_ms, period_ms, task, arg, handle);
    };
    host.extra_services["berth.executor/1"] = &executor;
  });
  gangs.group("g", 2);
  gangs.members("g", 0, 2);
  gangs.post_filter(Gangs::pod("g-r0", "g"));
  gangs.quorum(Gangs::pod("g-r0", "g"));
  EXPECT_TRUE(gangs.cluster().tasks.empty());
  refuses = false;
  gangs.quorum(Gangs::pod("g-r0", "g"));
  EXPECT_EQ(gangs.cluster().tasks.size(), 1u);
}

TEST(GroupRecords, ForgetTheGroupThatWasUsedLeastRecently) {
  coscheduling::GroupRecords records;
  const auto key = [](std::size_t i) { return "ns/g" + std::to_string(i); };
  for (std::size_t i = 0; i < coscheduling::k_records_max; ++i) records.failed(key(i), 5);
  records.failed(key(0), 6);
  records.failed("ns/new", 7);
  EXPECT_EQ(records.failed_at(key(0)), 6);
  EXPECT_EQ(records.failed_at(key(1)), std::nullopt);
  EXPECT_EQ(records.failed_at(key(2)), 5);
  EXPECT_EQ(records.failed_at("ns/new"), 7);
  records.reached_quorum(key(2));
  records.failed("ns/newer", 8);
  EXPECT_EQ(records.failed_at(key(3)), 5) << "there was room";
}

NodeSpec node(const std::string& name, std::int64_t used_cpu, std::int64_t pods) {
  return {.name = name, .capacity = {{"cpu", 3000}, {"pods", 110}}, .requested = {{"cpu", used_cpu}}, .pods = pods};
}
struct GapCase {
  const char* name;
  std::vector<NodeSpec> nodes;
  bool own_on_a;
  int min;
  const char* resources;
  const char* gap;  // empty: passes
};
class Gaps : public testing::TestWithParam<GapCase> {};
TEST_P(Gaps, AreWhatTheClusterLacks) {
  const GapCase& c = GetParam();
  Gangs gangs;
  gangs.group("g", c.min, 0, c.resources);
  if (c.own_on_a) {
    PodSpec own = Gangs::pod("own", "g", "a");
    own.resources = {{"cpu", 2000, 2000, 2000, 0}};
    gangs.cluster().groups[{"default", "g"}].push_back({own});
  }
  gangs.cluster().nodes = c.nodes;
  Attempt attempt(gangs.policy, Gangs::pod("p", "g"), c.nodes);
  const Outcome outcome = attempt.pre_filter();
  EXPECT_EQ(outcome.code, *c.gap == '\0' ? BERTH_OK : BERTH_UNRESOLVABLE) << outcome.text;
  if (outcome.code != BERTH_OK) {
    EXPECT_EQ(outcome.text, std::string("resource gap: ") + c.gap);
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, Gaps,
    testing::ValuesIn(std::vector<GapCase>{
        {"EnoughOnBoth", {node("a", 2000, 1), node("b", 0, 0)}, false, 1, R"({"cpu":"4"})", ""},
        {"OneTooFew", {node("a", 2000, 1), node("b", 1000, 1)}, false, 1, R"({"cpu":4})", "cpu 1"},
        {"OwnPodsDoNotCount", {node("a", 2000, 1), node("b", 1000, 1)}, true, 1, R"({"cpu":"4"})", ""},
        {"OwnPodSlotsDoNotCount", {node("a", 0, 110), node("b", 0, 110)}, true, 2, "{}", "pods 1"},
        {"OverCommittedNodesRaiseTheWant", {node("a", 5000, 2), node("b", 0, 0)}, false, 1, R"({"cpu":"3"})", "cpu 2"},
        {"UnlessItIsMetBefore", {node("b", 0, 0), node("a", 5000, 2)}, false, 1, R"({"cpu":"3"})", ""},
        {"PodSlots", {node("a", 0, 0), node("b", 0, 0)}, false, 300, "{}", "pods 80"},
        {"PodsAsWrittenDoNotCount", {node("a", 0, 0), node("b", 0, 0)}, false, 2, R"({"pods":"500"})", ""},
        {"WhatNoNodeHas", {node("a", 0, 0)}, false, 1, R"({"example.com/gpu":"1"})", "example.com/gpu 1"},
        {"Several", {node("a", 500, 1)}, false, 1, R"({"cpu":"3","example.com/gpu":2})", "cpu 500m, example.com/gpu 2"},
        {"NotAsked", {node("a", 3000, 110)}, false, 1, "", ""}}),
    [](const auto& instance) { return instance.param.name; });

TEST(Gap, OfAnAmountThatIsNoQuantityIsAnError) {
  Gangs gangs;
  gangs.group("g", 1, 0, R"({"cpu":"many"})");
  Attempt attempt(gangs.policy, Gangs::pod("p", "g"), {node("a", 0, 0)});
  EXPECT_EQ(attempt.pre_filter(), (Outcome{BERTH_ERROR, "spec.minResources: cpu: \"many\" is no quantity"}));
}

TEST(Hints, WakeForTheirOwnGroupOnly) {
  Gangs gangs;
  gangs.group("g", 2);
  const PodSpec waiting = Gangs::pod("g-1", "g");
  const auto placed = [&](const std::string& group, std::uint32_t action) {
    EventSpec event{.kind = BERTH_KIND_POD, .actions = action};
    (action == BERTH_ACTION_ADD ? event.new_pod : event.old_pod) = Gangs::pod("other", group, "n");
    return gangs.policy.wakes(event, waiting);
  };
  EXPECT_TRUE(placed("g", BERTH_ACTION_ADD));
  EXPECT_TRUE(placed("g", BERTH_ACTION_DELETE));
  EXPECT_FALSE(placed("h", BERTH_ACTION_ADD));
  EXPECT_FALSE(placed("", BERTH_ACTION_DELETE));
  EXPECT_FALSE(gangs.policy.wakes({.new_node = node("n", 0, 0)}, waiting));
}

TEST(Hints, WakeForNewSpecsOfTheirPodGroup) {
  Gangs gangs;
  const PodSpec waiting = Gangs::pod("g-1", "g");
  const auto changed = [&](std::optional<ObjectSpec> old_object, ObjectSpec new_object) {
    return gangs.policy.wakes({.kind = BERTH_KIND_OWN_WATCH,
                               .actions = old_object ? BERTH_ACTION_UPDATE : BERTH_ACTION_ADD,
                               .old_object = old_object,
                               .new_object = new_object},
                              waiting);
  };
  const ObjectSpec two{"default", "g", {"t", std::int64_t{2}, "", ""}},
      three{"default", "g", {"t", std::int64_t{3}, "", ""}};
  EXPECT_TRUE(changed(std::nullopt, two));
  EXPECT_TRUE(changed(two, three));
  EXPECT_FALSE(changed(two, two));
  EXPECT_FALSE(changed(std::nullopt, {"default", "h", {"t", std::int64_t{2}, "", ""}}));
  EXPECT_FALSE(changed(std::nullopt, {"other", "g", {"t", std::int64_t{2}, "", ""}}));
}

TEST(Hints, WakeForRoomAnywhereWhenResourcesWereLacking) {
  Gangs gangs;
  gangs.group("g", 1, 0, R"({"cpu":"6"})");
  gangs.cluster().nodes = {node("a", 0, 0)};
  const PodSpec waiting = Gangs::pod("p", "g");
  Attempt attempt(gangs.policy, waiting, gangs.cluster().nodes);
  ASSERT_EQ(attempt.pre_filter().code, BERTH_UNRESOLVABLE);
  EXPECT_TRUE(gangs.policy.wakes({.new_node = node("b", 0, 0)}, waiting));
  EXPECT_TRUE(gangs.policy.wakes(
      {.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_DELETE, .old_pod = Gangs::pod("x", "", "a")}, waiting));
  EXPECT_FALSE(gangs.policy.wakes(
      {.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_ADD, .new_pod = Gangs::pod("x", "", "a")}, waiting));
}

}  // namespace
