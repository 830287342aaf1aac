// SPDX-License-Identifier: Apache-2.0
/// What the recorded cases do not show: limits, what is kept between calls, errors of objects that an API server would refuse.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "scene.hpp"

namespace berth::dra {
namespace {

struct Clock {
  std::uint64_t asked = 0;
  std::uint64_t stops_at = 0;  ///< the number of the question that is answered with `answer`
  Limits::Stop answer = Limits::Stop::deadline_exceeded;
  Limits limits() {
    return {[](void* context) {
              auto& clock = *static_cast<Clock*>(context);
              return clock.asked++ < clock.stops_at ? Limits::Stop::go_on : clock.answer;
            },
            this};
  }
};

/// A search that tries every subset: no two of many devices agree.
Claim hopeless_claim() {
  Claim claim = claim_of({request_of("r", "a", 12), request_of("q", "a", 12)});
  claim.constraints.push_back({{}, "a/group", std::nullopt});
  return claim;
}

void add_hopeless_slice(Scene& scene) {
  std::vector<Device> devices;
  for (int i = 0; i < 60; ++i) {
    devices.push_back(device_named("d" + std::to_string(i)));
    devices.back().attributes.push_back({"group", cel::Attribute::Type::integer, i % 3, {}});
  }
  scene.add(slice_on("n1", "a", "p", std::move(devices)));
}

TEST(Allocator, GivesTheFirstDevicesThatFit) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1"), device_named("d2")}));
  ASSERT_EQ(scene.state.add({"a", "p", "d1"}), "");
  EXPECT_EQ(text_of(scene.allocate({claim_of({request_of("r", "a")})})), "r=a/p/d2");
}

TEST(Allocator, StopsAtTheDeadlineBeforeAnyWork) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  Clock clock;
  const Outcome outcome = scene.allocate({claim_of({request_of("r", "a")})}, clock.limits());
  EXPECT_EQ(outcome.kind, Outcome::Kind::deadline_exceeded);
  EXPECT_EQ(outcome.error, "filter operation aborted: context deadline exceeded");
}

TEST(Allocator, StopsInTheMiddleOfASearch) {
  Scene scene;
  add_hopeless_slice(scene);
  Clock clock{0, 1000, Limits::Stop::cancelled};
  const Outcome outcome = scene.allocate({hopeless_claim()}, clock.limits());
  EXPECT_EQ(outcome.kind, Outcome::Kind::cancelled);
  EXPECT_EQ(outcome.error, "filter operation aborted: context canceled");
  EXPECT_EQ(clock.asked, 1001u);
}

TEST(Allocator, GivesUpAfterTheLastStep) {
  Scene scene;
  add_hopeless_slice(scene);
  Limits limits;
  limits.steps_max = 10'000;
  const Outcome outcome = scene.allocate({hopeless_claim()}, limits);
  EXPECT_EQ(outcome.kind, Outcome::Kind::gave_up);
  EXPECT_EQ(
      outcome.error,
      "filter operation aborted: no devices found in 10000 steps; ask for fewer devices, or with narrower selectors");
}

/// Requests that many devices suit, before one that none does.
TEST(Allocator, SeesThatARequestHasTooFewDevices) {
  Scene scene;
  add_hopeless_slice(scene);
  Claim claim = claim_of({request_of("r", "a", 12), request_of("q", "a", 12), request_of("z", "a")});
  claim.requests[2].exactly->selectors.emplace_back("device.driver == 'none'");
  Limits limits;
  limits.steps_max = 1'000'000;
  const Outcome outcome = scene.allocate({claim}, limits);
  EXPECT_EQ(outcome.kind, Outcome::Kind::no_solution);
  EXPECT_LT(outcome.steps, 1'000'000u);
}

TEST(Allocator, DoesNotConcludeFromASelectorThatFails) {
  Scene scene;
  add_hopeless_slice(scene);
  Claim claim = claim_of({request_of("r", "a", 12), request_of("q", "a", 12), request_of("z", "a")});
  claim.requests[2].exactly->selectors.emplace_back("device.attributes['a'].none == 1");
  Limits limits;
  limits.steps_max = 1'000'000;
  const Outcome outcome = scene.allocate({claim}, limits);
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed) << outcome.error;
}

TEST(Allocator, StopsInASelectorThatLoops) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  std::string list = "[0";
  for (int i = 1; i < 60; ++i) list += "," + std::to_string(i);
  list += "]";
  Claim claim = claim_of({request_of("r", "any")});
  claim.requests[0].exactly->selectors.push_back(list + ".all(x, " + list + ".all(y, x + y < 1000))");
  Clock clock{0, 2};
  const Outcome outcome = scene.allocate({claim}, clock.limits());
  EXPECT_EQ(outcome.kind, Outcome::Kind::deadline_exceeded);
  EXPECT_EQ(outcome.error,
            "claim ns/c: selector #0: CEL runtime error: operation interrupted: context deadline exceeded");
}

TEST(Allocator, RefusesMoreRequestsThanItSearches) {
  Scene scene;
  std::vector<Claim> claims(129, claim_of({request_of("r", "a")}));
  EXPECT_EQ(scene.allocate(claims).kind, Outcome::Kind::failed);
  EXPECT_EQ(
      scene.allocate(claims).error,
      "the pod has 129 claims with 129 requests to allocate; at most 128 claims with 1024 requests are supported");
  std::vector<Request> requests(1025, request_of("r", "a"));
  EXPECT_EQ(scene.prepare(claim_of(requests))->error(),
            "claim ns/c: has 1025 requests and subrequests, at most 1024 are supported");
}

TEST(Allocator, RefusesCountsBelowZeroAndCountsThatOverflow) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  EXPECT_EQ(text_of(scene.allocate({claim_of({request_of("r", "a", -1)})})),
            "claim ns/c, request r: count -1 is below zero");
  EXPECT_EQ(text_of(scene.allocate({claim_of({request_of("r", "a", INT64_MAX), request_of("q", "a", INT64_MAX)})})),
            "claim ns/c: number of requested devices 9223372036854775807 exceeds the claim limit of 32");
}

TEST(Allocator, JudgesADeviceOncePerSelector) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1"), device_named("d2")}));
  Claim claim = claim_of({request_of("r", "any")});
  claim.requests[0].exactly->selectors.push_back("device.driver == \"a\"");
  const auto prepared = scene.prepare(claim);
  const std::uint64_t serial = prepared->queries()[0].selectors[0].program->serial();
  const auto row = scene.slices[0]->verdicts(serial);
  EXPECT_EQ(row->verdicts[0].load(), VerdictRow::unknown);
  EXPECT_EQ(text_of(scene.allocate({claim})), "r=a/p/d1");
  EXPECT_EQ(row->verdicts[0].load(), VerdictRow::yes);
  EXPECT_EQ(row->verdicts[1].load(), VerdictRow::unknown);
  // What is remembered is used.
  row->verdicts[0].store(VerdictRow::no);
  EXPECT_EQ(text_of(scene.allocate({claim})), "r=a/p/d2");
}

TEST(Allocator, ForgetsTheOldestSelectorsOfASlice) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  const auto first = scene.slices[0]->verdicts(1000);
  EXPECT_EQ(scene.slices[0]->verdicts(1000), first);
  for (std::uint64_t serial = 1001; serial <= 1000 + PreparedSlice::k_rows_max; ++serial)
    scene.slices[0]->verdicts(serial);
  EXPECT_NE(scene.slices[0]->verdicts(1000), first);
}

TEST(Allocator, MakesAShareIdPerShare) {
  Scene scene;
  Device shared = device_named("d1");
  shared.allow_multiple_allocations = true;
  shared.capacity.push_back({"memory", "8Gi", RequestPolicy{"1Gi", {}, RequestPolicy::Range{"1Gi", {}, "1Gi"}}});
  scene.add(slice_on("n1", "a", "p", {shared}));
  Claim claim = claim_of({request_of("r", "a"), request_of("q", "a")});
  claim.requests[1].exactly->capacity.push_back({"memory", "2500Mi"});
  EXPECT_EQ(text_of(scene.allocate({claim})), "r=a/p/d1#s0[memory 1Gi] q=a/p/d1#s1[memory 3Gi]");
}

TEST(Allocator, FailsWhereASelectorOfADeviceHasSeveralTerms) {
  Scene scene;
  Slice slice = slice_on("", "a", "p", {device_named("d1")});
  slice.per_device_node_selection = true;
  slice.devices[0].nodes.selector = NodeSelector{{{{{"zone", "In", {"z"}}}, {}}, {{{"rack", "Exists", {}}}, {}}}};
  scene.add(slice);
  const Node node{"n1", {{"rack", "7"}}};
  EXPECT_EQ(text_of(scene.allocate({claim_of({request_of("r", "a")})}, {}, node)),
            "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms");
}

TEST(Allocator, FailsWhereASelectorOfASliceIsWrong) {
  Scene scene;
  Slice slice = slice_on("", "a", "p", {device_named("d1")});
  slice.nodes.selector = NodeSelector{{{{{"zone", "Near", {"z"}}}, {}}}};
  scene.add(slice);
  EXPECT_EQ(text_of(scene.allocate({claim_of({request_of("r", "a")})})),
            "gather pool information: failed to perform node selection for slice p-a: failed to parse node selector: "
            "\"Near\" is not a valid node selector operator");
}

TEST(Allocator, KeepsCountersOfTheFirstPoolOfANameForAllNodes) {
  Scene scene;
  for (const std::string driver : {"a", "b"}) {
    const std::string node = driver == "a" ? "n1" : "n2";
    Device device = device_named("d");
    device.consumes_counters.push_back({"set", {{"memory", driver == "a" ? "1" : "2"}}});
    Slice devices = slice_on(node, driver, "p", {device});
    devices.slice_count = 2;
    scene.add(devices);
    Slice counters = slice_on(node, driver, "p", {});
    counters.name += "-counters";
    counters.slice_count = 2;
    counters.shared_counters.push_back({"set", {{"memory", driver == "a" ? "1" : "2"}}});
    scene.add(counters);
  }
  const Inventory inventory(scene.slices);
  const auto on_n1 = inventory.gather({"n1", {}});
  const auto on_n2 = inventory.gather({"n2", {}});
  const std::vector for_a = {scene.prepare(claim_of({request_of("r", "a")}))};
  const std::vector for_b = {scene.prepare(claim_of({request_of("r", "b")}))};
  const Allocator first_a(std::make_shared<AllocatedState>(scene.state));
  EXPECT_EQ(text_of(first_a.allocate(on_n1, for_a, {}, scene.workspace)), "r=a/p/d");
  EXPECT_EQ(text_of(first_a.allocate(on_n2, for_b, {}, scene.workspace)), "no solution");
  const Allocator first_b(std::make_shared<AllocatedState>(scene.state));
  EXPECT_EQ(text_of(first_b.allocate(on_n2, for_b, {}, scene.workspace)), "r=b/p/d");
}

/// A device that consumes a counter, on a node, in a pool of two slices, as it is published.
void add_counted(Scene& scene, const std::string& node, const std::string& driver, const std::string& pool) {
  Slice devices = slice_on(node, driver, pool, {device_named("d0")});
  devices.devices[0].consumes_counters.push_back({"card", {{"memory", "1"}}});
  devices.slice_count = 2;
  Slice counters = slice_on(node, driver, pool, {});
  counters.name += "-counters";
  counters.slice_count = 2;
  counters.shared_counters.push_back({"card", {{"memory", "1"}}});
  scene.add(devices);
  scene.add(counters);
}

// Which pool's counters stand for the name is decided by the search that asks first, so no search may be left out.
TEST(Allocator, KeepsNoSearchWherePoolsWithCountersShareAName) {
  Scene scene;
  add_counted(scene, "n1", "a", "p");
  const auto on = [&](const char* node) { return Inventory(scene.slices).gather({node, {}}); };
  EXPECT_TRUE(on("n1")->is_reusable);
  EXPECT_EQ(on("n1")->numbers.size(), 1u);
  EXPECT_TRUE(on("n2")->numbers.empty()) << "counters without devices concern no search";
  add_counted(scene, "n2", "b", "q");
  EXPECT_TRUE(on("n1")->is_reusable);
  add_counted(scene, "n2", "b", "p");
  EXPECT_FALSE(on("n1")->is_reusable);
  EXPECT_FALSE(on("n2")->is_reusable);
  EXPECT_TRUE(on("n3")->is_reusable);
}

TEST(Allocator, EvaluatesASelectorOnceForDevicesThatLookTheSame) {
  Scene scene;
  std::vector<Device> devices(3, device_named("x"));
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].name = "d" + std::to_string(i);
  devices[2].attributes.push_back({"model", cel::Attribute::Type::string, 0, "S"});
  scene.add(slice_on("n1", "a", "p", devices));
  scene.add(slice_on("n2", "a", "q", {device_named("d0")}));
  scene.add(slice_on("n2", "b", "q", {device_named("d0")}));
  const auto content = [&](std::size_t slice, std::size_t device) {
    return scene.slices[slice]->devices()[device].content;
  };
  EXPECT_EQ(content(0, 0), content(0, 1));
  EXPECT_EQ(content(0, 0), content(1, 0));
  EXPECT_NE(content(0, 0), content(0, 2)) << "another attribute";
  EXPECT_NE(content(0, 0), content(2, 0)) << "another driver";
}

// Before, 85 matches of 0.6 s each for every device and attempt.
TEST(Allocator, RemembersThatASelectorTakesTooManySteps) {
  Scene scene;
  std::vector<Device> devices(3, device_named("x"));
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].name = "d" + std::to_string(i);
  scene.add(slice_on("n1", "a", "p", devices));
  Request request = request_of("r", "a");
  request.exactly->selectors.push_back("!'" + std::string(7900, 'a') + "'.matches('((a?){9}){99}((a?){9}){99}b')");
  const Outcome first = scene.allocate({claim_of({request})});
  EXPECT_EQ(first.kind, Outcome::Kind::failed);
  EXPECT_NE(first.error.find("selector #0: CEL runtime error: evaluation takes more steps than allowed"),
            std::string::npos)
      << first.error;
  EXPECT_GE(first.selector_steps, cel::Limits().steps) << "up to the limit once";
  EXPECT_LE(first.selector_steps, cel::Limits().steps + 100'000) << "and its cost";
  const Outcome again = scene.allocate({claim_of({request})});
  EXPECT_EQ(again.error, first.error);
  EXPECT_LE(again.selector_steps, 100u) << "that of the class";
}

TEST(Allocator, ComesFurtherWithEachAttemptThatHadTooFewSteps) {
  Scene scene;
  std::vector<Device> devices(20, device_named("x"));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].name = "d" + std::to_string(i);
    devices[i].attributes.push_back({"index", cel::Attribute::Type::integer, static_cast<std::int64_t>(i), {}});
  }
  scene.add(slice_on("n1", "a", "p", devices));
  Request request = request_of("r", "a");
  request.exactly->selectors.push_back("lists.range(100).exists(x, x == 19 && x == device.attributes['a'].index)");
  Limits limits;
  limits.selector_steps_max = 10'000;
  Outcome outcome = scene.allocate({claim_of({request})}, limits);
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed);
  EXPECT_NE(outcome.error.find("too expensive: the selectors of the pod take more steps than an attempt may"),
            std::string::npos)
      << outcome.error;
  int attempts = 1;
  for (; outcome.kind == Outcome::Kind::failed && attempts < 20; ++attempts)
    outcome = scene.allocate({claim_of({request})}, limits);
  EXPECT_EQ(outcome.kind, Outcome::Kind::allocated) << outcome.error;
  EXPECT_GT(attempts, 2);
}

TEST(Allocator, SelectorsOfAPodHaveABudgetOfMemory) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d")}));
  std::vector<Request> requests;
  for (int i = 0; i < 24; ++i) {
    std::string selector = "true";
    for (int k = 0; k < 100; ++k)
      selector += " && !device.driver.matches('a" + std::to_string(i) + "-" + std::to_string(k) + "')";
    requests.push_back(request_of("r" + std::to_string(i), "a"));
    requests.back().exactly->selectors.push_back(selector);
  }
  SelectorBudget budget;
  const PreparedClaim claim(
      std::make_shared<Claim>(claim_of(requests)), [&](std::string_view name) { return scene.find_class(name); },
      scene.programs, budget);
  EXPECT_LT(budget.bytes, SelectorBudget::k_bytes_max + (std::size_t{6} << 20)) << "one more may not fit";
  EXPECT_NE(claim.queries()[0].selectors[0].program, nullptr);
  EXPECT_EQ(claim.queries()[23].selectors[0].program, nullptr);
  EXPECT_EQ(claim.queries()[23].selectors[0].compile_error,
            "too expensive: the selectors of the pod need more than 16 MiB of memory");
}

TEST(Allocator, SelectorsOfAPodHaveABudgetOfSteps) {
  Scene scene;
  Request request = request_of("r", "a");
  for (int i = 0; i < 200; ++i)
    request.exactly->selectors.push_back("device.driver.matches(r'\\pL{89}" + std::to_string(i) + "')");
  SelectorBudget budget;
  const PreparedClaim claim(
      std::make_shared<Claim>(claim_of({request})), [&](std::string_view name) { return scene.find_class(name); },
      scene.programs, budget);
  EXPECT_LT(budget.steps, SelectorBudget::k_steps_max + cel::Limits().steps);
  EXPECT_NE(claim.queries()[0].selectors[0].compile_error, claim.queries()[0].selectors[199].compile_error);
  EXPECT_EQ(claim.queries()[0].selectors[199].compile_error,
            "too expensive: compiling the selectors of the pod takes more than 25000000 steps");
}

TEST(Allocator, JudgesNodesOnSeveralThreads) {
  Scene scene;
  Device partition = device_named("part");
  partition.consumes_counters.push_back({"card", {{"memory", "1"}}});
  Slice everywhere = slice_on("", "a", "shared", {partition});
  everywhere.nodes.all_nodes = true;
  everywhere.slice_count = 2;
  Slice counters = everywhere;
  counters.name += "-counters";
  counters.devices.clear();
  counters.shared_counters.push_back({"card", {{"memory", "1"}}});
  scene.add(everywhere);
  scene.add(counters);
  constexpr int nodes = 64;
  for (int i = 0; i < nodes; ++i) {
    const std::string node = "n" + std::to_string(i);
    scene.add(slice_on(node, "b", node, {device_named("d")}));
  }
  const Inventory inventory(scene.slices);
  const Allocator allocator(std::make_shared<AllocatedState>(scene.state));
  const std::vector claims = {scene.prepare(claim_of({request_of("r", "a"), request_of("q", "b")}))};
  std::vector<std::string> outcomes(nodes);
  std::vector<std::thread> threads;
  for (int first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      Workspace workspace;
      for (int i = first; i < nodes; i += 4) {
        const auto pools = inventory.gather({"n" + std::to_string(i), {}});
        outcomes[static_cast<std::size_t>(i)] = text_of(allocator.allocate(pools, claims, {}, workspace));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < nodes; ++i)
    EXPECT_EQ(outcomes[static_cast<std::size_t>(i)], "r=a/shared/part q=b/n" + std::to_string(i) + "/d");
}

TEST(Allocator, KeepsAnAllocationAfterItsClusterIsGone) {
  std::shared_ptr<const Allocation> kept;
  {
    Scene scene;
    scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
    kept = scene.allocate({claim_of({request_of("r", "a")})}).allocation;
  }
  const ClaimAllocation described = kept->describe(0, [] { return std::string(); });
  EXPECT_EQ(described.results.at(0).device, "d1");
  EXPECT_EQ(described.node_selector, (NodeSelector{{{{}, {{"metadata.name", "In", {"n1"}}}}}}));
}

}  // namespace
}  // namespace berth::dra
