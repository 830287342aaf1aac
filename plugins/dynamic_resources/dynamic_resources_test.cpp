// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/bind_call.hpp>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/policy.hpp>

namespace dynamic_resources_test {
namespace {
using namespace berth::testkit;

constexpr const char* k_claims = "resource.k8s.io/v1/resourceclaims";
constexpr const char* k_slices = "resource.k8s.io/v1/resourceslices";
constexpr const char* k_classes = "resource.k8s.io/v1/deviceclasses";
const std::vector<NodeSpec> k_nodes = {{.name = "a"}, {.name = "b"}};

/// One GPU on node a, a class for it, and a claim "c" for one.
class Devices : public testing::Test {
 protected:
  Devices() {
    cluster.put(k_classes, "", "gpu",
                {R"({"name":"gpu"})", R"({"selectors":[{"cel":{"expression":"device.driver == 'd'"}}]})"});
    cluster.put(
        k_slices, "", "s",
        {R"({"name":"s"})", R"({"driver":"d","pool":{"name":"a","generation":1,"resourceSliceCount":1},"nodeName":"a",)"
                            R"("devices":[{"name":"gpu-0"}]})"});
    put_claim("{}");
  }
  void put_claim(const std::string& status, const std::string& more_metadata = "") {
    cluster.put(
        k_claims, "default", "c",
        {R"({"name":"c","namespace":"default","uid":"cu")" + more_metadata + "}",
         R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount",)"
         R"("count":1}}]}})",
         status});
  }

  Policy policy{tested_library(), "", FakeCluster::install};
  FakeCluster& cluster = FakeCluster::of(policy);
  const PodSpec pod{.name = "p", .claims = {{.name = "g", .claim = "c"}}};
};

TEST_F(Devices, AreNothingToPodsWithoutClaims) {
  Attempt attempt(policy, {.name = "p"}, k_nodes);
  EXPECT_EQ(attempt.pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(attempt.score(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_NE(policy.ops<berth_prepare_ops_v1>("berth.prepare/1")->flags & BERTH_PREPARE_SKIP_SCORES_ZERO, 0U)
      << "or every node is scored for every pod";
}

TEST_F(Devices, AreWhereTheirSliceIs) {
  Attempt attempt(policy, pod, k_nodes);
  EXPECT_EQ(attempt.pre_filter().code, static_cast<berth_code>(BERTH_OK));
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{passes(), unresolvable("cannot allocate all claims")}));
}

TEST_F(Devices, AreTakenByOtherClaims) {
  cluster.put(k_claims, "default", "other",
              {R"({"name":"other","namespace":"default","uid":"ou"})", "{}",
               R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]}}})"});
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  EXPECT_FALSE(attempt.filter()[0].passes);
}

TEST_F(Devices, StayWhereTheClaimIsAllocated) {
  put_claim(
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]},"nodeSelector":)"
      R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}]}}})");
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{unresolvable("resourceclaim not available on the node"), passes()}));
}

// What is kept of a node refers to itself, and must not move when others come.
TEST_F(Devices, StayWhereTheClaimIsAllocatedWhenNodesCome) {
  put_claim(
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]},"nodeSelector":)"
      R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}]}}})");
  std::vector<NodeSpec> nodes = k_nodes;
  for (int i = 0; i < 200; ++i) {
    Attempt attempt(policy, pod, nodes);
    attempt.pre_filter();
    const std::vector<Answer> answers = attempt.filter();
    for (std::size_t row = 0; row < answers.size(); ++row)
      ASSERT_EQ(answers[row].passes, nodes[row].name == "b") << "node " << nodes[row].name << " of " << nodes.size();
    nodes.push_back({.name = "n" + std::to_string(i)});
  }
}

TEST_F(Devices, NeedTheirClaimAndClass) {
  const auto says = [&](const PodSpec& spec) { return Attempt(policy, spec, k_nodes).pre_filter(); };
  EXPECT_EQ(says({.name = "p", .claims = {{.name = "g", .claim = "none"}}}),
            (Outcome{BERTH_UNRESOLVABLE, "could not find ResourceClaim \"default/none\""}));
  EXPECT_EQ(says({.name = "p", .claims = {{.name = "g", .claim_template = "t"}}}),
            (Outcome{BERTH_UNRESOLVABLE, "pod \"default/p\": ResourceClaim not created yet"}));
  EXPECT_EQ(
      says({.name = "p", .claims = {{.name = "g", .claim_template = "t", .generated = "c"}}}),
      (Outcome{BERTH_UNRESOLVABLE, "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)"}));
  put_claim("{}", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_EQ(says(pod), (Outcome{BERTH_UNRESOLVABLE, "resourceclaim \"c\" is being deleted"}));
  put_claim("{}");
  cluster.remove(k_classes, "", "gpu");
  EXPECT_EQ(says(pod), (Outcome{BERTH_UNRESOLVABLE, "request r: device class gpu does not exist"}));
}

/// One device on each of two nodes, and an allocation of which something cannot be read.
class Unread : public Devices {
 protected:
  Unread() {
    for (const char* node : {"a", "b"}) put_slice(node, "");
  }
  void put_slice(const std::string& pool, const std::string& more) {
    cluster.put(
        k_slices, "", "s" + pool,
        {"{}", R"({"driver":"d","pool":{"name":")" + pool + R"(","generation":1,"resourceSliceCount":1},"nodeName":")" +
                   pool + R"(","devices":[{"name":"gpu-0"})" + more + "]}"});
    cluster.remove(k_slices, "", "s");
  }
  void put_other(const std::string& allocation) {
    cluster.put(k_claims, "default", "other",
                {R"({"name":"other","namespace":"default","uid":"ou"})", "{}", R"({"allocation":)" + allocation + "}"});
  }
  std::string free_nodes() {
    Attempt attempt(policy, pod, k_nodes);
    attempt.pre_filter();
    const std::vector<Answer> answers = attempt.filter();
    return std::string(answers[0].passes ? "a" : "") + (answers[1].passes ? "b" : "");
  }
  static std::string deep() { return std::string(80, '[') + std::string(80, ']'); }
  static std::string selector_of(const std::string& node) {
    return R"("nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":[")" +
           node + R"("]}]}]})";
  }
};

TEST_F(Unread, AllocationsAreChargedWithWhatCanBeRead) {
  EXPECT_EQ(free_nodes(), "ab");
  put_other(R"({"devices":{"config":[{"opaque":{"driver":"d","parameters":)" + deep() +
            R"(}}],"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]},)" + selector_of("a") + "}");
  EXPECT_EQ(free_nodes(), "b");
  put_other("null");
  EXPECT_EQ(free_nodes(), "ab");
}

TEST_F(Unread, ResultsWithholdTheirPoolTheirNodeOrAll) {
  put_other(R"({"devices":{"results":[{"request":"r","driver":"d","pool":"b","device":7}]}})");
  EXPECT_EQ(free_nodes(), "a");
  put_other("null");
  put_other(R"({"devices":{"results":[{"request":"r","driver":"d","pool":"b","device":)" + deep() + "}]}}");
  EXPECT_EQ(free_nodes(), "a");
  put_other(R"({"devices":{"results":)" + deep() + "}," + selector_of("a") + "}");
  EXPECT_EQ(free_nodes(), "b");
  put_other(R"({"devices":{"results":)" + deep() + R"(},"nodeSelector":)" + deep() + "}");
  EXPECT_EQ(free_nodes(), "");
  cluster.remove(k_claims, "default", "other");
  EXPECT_EQ(free_nodes(), "ab");
}

TEST_F(Unread, AmountsWithholdTheirDevice) {
  put_other(
      R"({"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0","shareID":"s","consumedCapacity":{"memory":"?"}}]}})");
  EXPECT_EQ(free_nodes(), "b");
}

TEST_F(Unread, ResultsWithholdDevicesThatComeLater) {
  put_other(R"({"devices":{"results":[{"request":"r","driver":"d","pool":"b","device":7}]}})");
  EXPECT_EQ(free_nodes(), "a");
  put_slice("b", R"(,{"name":"gpu-1"})");
  EXPECT_EQ(free_nodes(), "a");
}

Outcome outcome(const std::function<void()>& call) {
  try {
    call();
  } catch (const CallError& e) {
    return e.outcome;
  }
  return Outcome{};
}

// No node takes as long as one may, and yet the scheduler would do nothing else for as long as all of them take.
TEST_F(Devices, AreSearchedForUntilTheDeadlineOfTheAttempt) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 1000; ++i) nodes.push_back({.name = "n" + std::to_string(i)});
  Attempt attempt(policy, pod, nodes);
  EXPECT_EQ(attempt.filter_budget_ns(), 30'000'000'000u) << "three times the limit of a node";
  attempt.pre_filter();
  cluster.ns_per_reading = 1'000'000;
  attempt.set_deadline_ns(static_cast<std::uint64_t>(cluster.now_ns) + 500'000'000);
  const auto count_late = [&] {
    const std::vector<Answer> answers = attempt.filter();
    return std::count_if(answers.begin(), answers.end(), [](const Answer& answer) {
      return answer.error.find("timed out trying to allocate devices") != std::string::npos;
    });
  };
  const std::ptrdiff_t late = count_late();
  EXPECT_GT(late, 100);
  EXPECT_LT(late, 900);
  EXPECT_EQ(count_late(), late) << "what was found is kept, and takes no time again";
  attempt.set_deadline_ns(0);
  EXPECT_EQ(count_late(), 0);
}

// Three devices on each node, and a selector of some 20 million steps for each device: an attempt has 75 million.
TEST_F(Devices, OfAllNodesShareTheStepsOfSelectors) {
  cluster.remove(k_slices, "", "s");
  for (const std::string& node : {std::string("a"), std::string("b")}) {
    std::string devices;
    for (int i = 0; i < 3; ++i)
      devices += (i == 0 ? "" : ",") + (R"({"name":"gpu-)" + std::to_string(i)) +
                 R"(","attributes":{"is":{"string":")" + node + std::to_string(i) + R"("}}})";
    cluster.put(
        k_slices, "", node,
        {"{}", R"({"driver":"d","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":1},"nodeName":")" +
                   node + R"(","devices":[)" + devices + "]}"});
  }
  const std::string selector = "'" + std::string(2800, 'a') + "'.matches('((a?){9}){99}((a?){9}){99}b')";
  cluster.put(
      k_claims, "default", "c",
      {R"({"name":"c","namespace":"default","uid":"cu"})",
       R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount",)"
       R"("count":1,"selectors":[{"cel":{"expression":")" +
           selector + R"("}}]}}]}})",
       "{}"});
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  const std::vector<Answer> answers = attempt.filter();
  EXPECT_EQ(answers[0], unresolvable("cannot allocate all claims"));
  EXPECT_NE(answers[1].error.find("the selectors of the pod take more steps than an attempt may"), std::string::npos)
      << answers[1];
}

TEST_F(Devices, OfANodeAreSearchedForAsLongAsItMayTake) {
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  cluster.ns_per_reading = 11'000'000'000;
  for (const Answer& answer : attempt.filter())
    EXPECT_NE(answer.error.find("timed out trying to allocate devices"), std::string::npos) << answer;
}

TEST_F(Devices, ThatAreMissedAreCountedByWhatKeepsThem) {
  cluster.put(k_slices, "", "s",
              {R"({"name":"s"})",
               R"({"driver":"d","pool":{"name":"a","generation":1,"resourceSliceCount":1},"nodeName":"a","devices":[)"
               R"({"name":"gpu-0"},{"name":"gpu-1","taints":[{"key":"broken","value":"fan","effect":"NoSchedule"}]},)"
               R"({"name":"gpu-2","taints":[{"key":"broken","value":"fan","effect":"NoSchedule"}]}]})"});
  cluster.put(k_claims, "default", "other",
              {R"({"name":"other","namespace":"default","uid":"ou"})", "{}",
               R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]}}})"});
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  EXPECT_EQ(attempt.filter_details(),
            (std::vector<Detail>{{0, "claim default/c, request r: in use", 1},
                                 {0, "claim default/c, request r: tainted broken=fan:NoSchedule", 2},
                                 {1, "claim default/c, request r: the node has no devices", 0}}));
}

TEST_F(Devices, AreShownWithWhoHasThem) {
  cluster.put(k_claims, "default", "other",
              {R"({"name":"other","namespace":"default","uid":"ou"})", "{}",
               R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]}},)"
               R"("reservedFor":[{"resource":"pods","name":"p","uid":"pu"}]})"});
  EXPECT_EQ(cluster.debug_page("devices"),
            R"({"drivers":{"d":{"devices":1,"free":0,"allocated":1,"inFlight":0,"tainted":0}},"withheldDevices":0,)"
            R"("inFlight":[],"claims":[{"claim":"default/c","uid":"cu","allocated":false,"reservedFor":0},)"
            "\n"
            R"({"claim":"default/other","uid":"ou","allocated":true,"reservedFor":1,"devices":["d/a/gpu-0"]}],)"
            R"("slices":[{"slice":"s","driver":"d","pool":"a","generation":1,"nodes":"a","devices":1,"free":0,)"
            R"("allocated":1,"inFlight":0,"tainted":0}]})");
}

TEST_F(Devices, InFlightAreShownUntilTheyAreGivenBack) {
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  attempt.filter();
  const std::string in_flight = R"("inFlight":[{"claim":"default/c","uid":"cu","pods":1,"devices":["d/a/gpu-0"]}])";
  EXPECT_EQ(cluster.debug_page("devices").find(in_flight), std::string::npos);
  const auto* reserve = policy.ops<berth_reserve_ops_v1>("berth.reserve/1");
  NoteRecord note;
  ASSERT_EQ(reserve->reserve(policy.self(), attempt.cycle(), 0, note.raw()), static_cast<berth_code>(BERTH_OK));
  EXPECT_NE(cluster.debug_page("devices").find(in_flight), std::string::npos) << cluster.debug_page("devices");
  reserve->unreserve(policy.self(), attempt.cycle(), 0);
  EXPECT_EQ(cluster.debug_page("devices").find(in_flight), std::string::npos);
}

TEST_F(Devices, ThatAreGivenBackAreAssumedAsTheAnswerSays) {
  const std::string allocation =
      R"("allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]}})";
  put_claim("{" + allocation + R"(,"reservedFor":[{"resource":"pods","name":"p","uid":"pu"}]})");
  PodSpec reserved = pod;
  reserved.uid = "pu";
  Attempt attempt(policy, reserved, k_nodes);
  attempt.pre_filter();
  attempt.filter();
  const auto* reserve = policy.ops<berth_reserve_ops_v1>("berth.reserve/1");
  NoteRecord note;
  ASSERT_EQ(reserve->reserve(policy.self(), attempt.cycle(), 0, note.raw()), static_cast<berth_code>(BERTH_OK));
  const std::string request = std::string("patch ") + k_claims + "/status default/c";
  const std::string written =
      R"({"metadata":{"name":"c","namespace":"default","uid":"cu"},"status":{)" + allocation + "}}";
  cluster.patched_object = written;
  reserve->unreserve(policy.self(), attempt.cycle(), 0);
  EXPECT_EQ(cluster.requests, (std::vector<std::string>{request}));
  EXPECT_EQ(cluster.assumed_written, (std::vector<std::string>{k_claims + (" " + written)}));
  cluster.patched_object = "";
  reserve->unreserve(policy.self(), attempt.cycle(), 0);
  cluster.patch_answer = BERTH_ERROR;
  reserve->unreserve(policy.self(), attempt.cycle(), 0);
  EXPECT_EQ(cluster.requests, (std::vector<std::string>{request, request, request}));
  EXPECT_EQ(cluster.assumed_written.size(), 1u) << "nothing of an answer without an object, or of an error";
}

// The pod may be tried again before the server has answered: it must not take the reservation for one that stays.
TEST_F(Devices, ThatAreBeingGivenBackAreReservedAgain) {
  const std::string allocation =
      R"("allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]}})";
  const std::string mine = R"({"resource":"pods","name":"p","uid":"pu"})";
  const auto written = [&](const std::string& consumers) {
    return R"({"metadata":{"name":"c","namespace":"default","uid":"cu"},"status":{)" + allocation +
           R"(,"reservedFor":[)" + consumers + "]}}";
  };
  put_claim("{" + allocation + R"(,"reservedFor":[)" + mine + "]}");
  PodSpec reserved = pod;
  reserved.uid = "pu";
  Attempt first(policy, reserved, k_nodes), second(policy, reserved, k_nodes);
  for (Attempt* each : {&first, &second}) {
    each->pre_filter();
    each->filter();
  }
  const auto* reserve = policy.ops<berth_reserve_ops_v1>("berth.reserve/1");
  NoteRecord note;
  ASSERT_EQ(reserve->reserve(policy.self(), first.cycle(), 0, note.raw()), static_cast<berth_code>(BERTH_OK));
  ASSERT_EQ(reserve->reserve(policy.self(), second.cycle(), 0, note.raw()), static_cast<berth_code>(BERTH_OK));
  RecordedCall call("a");
  cluster.answer_code = [&](const std::string& request) -> berth_code {
    if (request.starts_with("patch")) {  // the server has not answered yet
      EXPECT_EQ(pre_bind(policy, second, call).code, static_cast<berth_code>(BERTH_ASYNC));
      EXPECT_TRUE(call.outcomes.empty());
      put_claim("{" + allocation + "}");
    }
    return BERTH_OK;
  };
  cluster.patched_object = written("");
  cluster.read_object = written("");
  reserve->unreserve(policy.self(), first.cycle(), 0);
  for (int turn = 0; turn < 5 && call.outcomes.empty(); ++turn) cluster.run_next_task();
  const std::string object = std::string(k_claims) + "/status default/c";
  EXPECT_EQ(
      cluster.requests,
      (std::vector<std::string>{"patch " + object, std::string("get ") + k_claims + " default/c", "update " + object}));
  EXPECT_NE(cluster.bodies.back().find(mine), std::string::npos) << cluster.bodies.back();
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{}}));
}

// Searches are kept by what claims ask for, not by whose they are; what is wrong is said of the claim that it is wrong with.
TEST_F(Devices, AreFoundForEachClaimOfAKindByItself) {
  const auto put = [&](const std::string& name, const std::string& selector) {
    cluster.put(
        k_claims, "default", name,
        {R"({"name":")" + name + R"(","namespace":"default","uid":"u-)" + name + R"("})",
         R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount",)"
         R"("count":1,"selectors":[{"cel":{"expression":")" +
             selector + R"("}}]}}]}})",
         "{}"});
  };
  const auto filtered = [&](const std::string& claim) {
    const PodSpec one{.name = "p", .claims = {{.name = "g", .claim = claim}}};
    Attempt attempt(policy, one, k_nodes);
    attempt.pre_filter();
    return attempt.filter();
  };
  for (const char* name : {"one", "two"}) put(name, "device.driver == 'd'");
  for (const char* name : {"three", "four"}) put(name, "device.attributes['d'].none == 1");
  const std::vector<Answer> on_a = {passes(), unresolvable("cannot allocate all claims")};
  EXPECT_EQ(filtered("one"), on_a);
  EXPECT_EQ(filtered("two"), on_a);
  const auto says = [&](const std::string& claim) { return filtered(claim)[0].error; };
  EXPECT_EQ(says("three"), "claim default/three: selector #0: CEL runtime error: no such key: none");
  EXPECT_EQ(says("four"), "claim default/four: selector #0: CEL runtime error: no such key: none");
  cluster.put(k_claims, "default", "other",
              {R"({"name":"other","namespace":"default","uid":"ou"})", "{}",
               R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0"}]}}})"});
  EXPECT_FALSE(filtered("two")[0].passes);
  cluster.remove(k_claims, "default", "other");
  EXPECT_EQ(filtered("one"), on_a);
}

/// A write of which it is not known whether it was carried out: the only device there is stays in flight until that is known.
class Unanswered : public Devices {
 protected:
  Unanswered() {
    cluster.put(
        k_claims, "default", "other",
        {R"({"name":"other","namespace":"default","uid":"ou"})",
         R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}]}})",
         "{}"});
    cluster.answer_code = [this](const std::string& request) -> berth_code {
      if (request.starts_with("update") && request.find("/status") != request.npos) return BERTH_ERROR;
      return request.starts_with("get") && !answers_reads ? BERTH_ERROR : BERTH_OK;
    };
  }
  void bind() {
    attempt.pre_filter();
    attempt.filter();
    NoteRecord note;
    policy.ops<berth_reserve_ops_v1>("berth.reserve/1")->reserve(policy.self(), attempt.cycle(), 0, note.raw());
    pre_bind(policy, attempt, call);
  }
  bool other_gets_it() {
    Attempt one(policy, {.name = "q", .claims = {{.name = "g", .claim = "other"}}}, k_nodes);
    one.pre_filter();
    return one.filter()[0].passes;
  }
  Attempt attempt{policy, pod, k_nodes};
  RecordedCall call{"a"};
  bool answers_reads = false;
};

TEST_F(Unanswered, WritesThatWereCarriedOutCount) {
  bind();
  EXPECT_FALSE(other_gets_it());
  cluster.run_next_task();
  EXPECT_EQ(call.outcomes, std::vector<Outcome>());
  EXPECT_FALSE(other_gets_it());
  answers_reads = true;
  cluster.read_object = cluster.bodies.at(1);  // after the finalizer: as it was sent
  cluster.run_next_task();
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{}}));
}

TEST_F(Unanswered, WritesThatWereNotCarriedOutAreErrors) {
  bind();
  EXPECT_FALSE(other_gets_it());
  answers_reads = true;
  cluster.read_object = cluster.bodies.at(0);  // with the finalizer, without an allocation
  cluster.run_next_task();
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR,
                                                  "add allocation and reservation to claim default/c: "
                                                  "the server refused"}}));
  EXPECT_TRUE(other_gets_it());
}

TEST_F(Unanswered, WritesAreNotAskedAboutForEver) {
  bind();
  for (int i = 0; i < 1000 && call.outcomes.empty() && cluster.run_next_task();) ++i;
  EXPECT_EQ(call.outcomes.size(), 1u);
}

/// The claim has two devices, one of which has to be prepared.
class Prepared : public Devices {
 protected:
  void put(const std::string& conditions) {
    put_claim(R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":"gpu-0",)"
              R"("bindingConditions":["Ready"],"bindingFailureConditions":["Broken"]},)"
              R"({"request":"r","driver":"e","pool":"a","device":"gpu-1"}]}},)"
              R"("reservedFor":[{"resource":"pods","name":"p","uid":")" +
              uid +
              R"("}],)"
              R"("devices":[{"driver":"d","pool":"a","device":"gpu-0","conditions":[)" +
              conditions + "]}]}");
  }
  /// Runs what is due until the binding has ended, at most so many times.
  void wait(RecordedCall& call, int turns) {
    for (int i = 0; i < turns && call.outcomes.empty() && cluster.run_next_task();) ++i;
  }
  std::vector<double> counted(const std::string& driver_and_status) {
    return cluster.recorded["scheduler_dra_bindingconditions_allocations_total ," + driver_and_status];
  }
  std::vector<double> waited(const std::string& driver_and_status) {
    return cluster.recorded["scheduler_dra_bindingconditions_wait_duration_seconds ," + driver_and_status];
  }
  const std::string uid = pod.name + "-uid";
};

TEST_F(Prepared, AreWaitedForAndCounted) {
  put("");
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  RecordedCall call("a");
  EXPECT_EQ(pre_bind(policy, attempt, call).code, static_cast<berth_code>(BERTH_ASYNC));
  EXPECT_EQ(
      cluster.events,
      (std::vector<std::string>{"BindingConditionsPending: waiting for binding conditions for device on node a"}));
  wait(call, 1);
  EXPECT_TRUE(call.outcomes.empty());
  put(R"({"type":"Ready","status":"True"})");
  wait(call, 1);
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{}}));
  EXPECT_EQ(counted("d,success"), (std::vector<double>{1}));
  EXPECT_EQ(waited("d,success"), (std::vector<double>{10}));
  EXPECT_EQ(counted("e,success"), std::vector<double>());  // it has no conditions
  EXPECT_EQ(waited("e,success"), (std::vector<double>{10}));
}

TEST_F(Prepared, ThatFailEndTheBinding) {
  put(R"({"type":"Broken","status":"True","reason":"Burnt","message":"smoke"})");
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  RecordedCall call("a");
  pre_bind(policy, attempt, call);
  EXPECT_EQ(call.outcomes,
            (std::vector<Outcome>{{BERTH_ERROR, "device binding failed: claim=c, reason=Burnt, message=\"smoke\""}}));
  EXPECT_EQ(counted("d,failure"), (std::vector<double>{1}));
  EXPECT_EQ(waited("e,failure"), (std::vector<double>{0}));
}

TEST_F(Prepared, ThatFailSaySoAsGoQuotesIt) {
  put(R"({"type":"Broken","status":"True","reason":"Burnt","message":"a\n\t\u0007\u0001\u007f\"\\\u0085\u200b\ue000é☃\ud83d\ude80"})");
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  RecordedCall call("a");
  pre_bind(policy, attempt, call);
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR,
                                                  "device binding failed: claim=c, reason=Burnt, message="
                                                  R"("a\n\t\a\x01\x7f\"\\\u0085\u200b\ue000é☃🚀")"}}));
}

TEST_F(Prepared, AreWaitedForAsLongAsIsAllowed) {
  put("");
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  RecordedCall call("a");
  pre_bind(policy, attempt, call);
  wait(call, 200);
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "device binding timeout: context deadline exceeded"}}));
  EXPECT_EQ(waited("d,timeout"), (std::vector<double>{600}));
}

TEST_F(Prepared, ThatAreGoneAreAnError) {
  put("");
  Attempt attempt(policy, pod, k_nodes);
  attempt.pre_filter();
  RecordedCall call("a");
  pre_bind(policy, attempt, call);
  cluster.remove(k_claims, "default", "c");
  wait(call, 1);
  EXPECT_EQ(call.outcomes, (std::vector<Outcome>{{BERTH_ERROR, "could not find ResourceClaim \"default/c\""}}));
  EXPECT_EQ(counted("d,error"), (std::vector<double>{1}));
}

TEST_F(Devices, FailLaterPointsWithoutPreFilter) {
  Attempt attempt(policy, pod, k_nodes);
  EXPECT_EQ(outcome([&] { attempt.filter(); }), (Outcome{BERTH_ERROR, "not found"}));
  EXPECT_EQ(outcome([&] { attempt.score(); }), (Outcome{BERTH_ERROR, "not found"}));
}

}  // namespace
}  // namespace dynamic_resources_test
