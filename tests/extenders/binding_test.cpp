// SPDX-License-Identifier: Apache-2.0
// Pods that an extender binds.
#include "extenders/extender_fixture.hpp"

namespace berth::tests {
namespace {

TEST(ExtenderBind, GetsPodAndNodeInsteadOfTheBindPlugins) {
  ScriptedExtender extender([](const Question&) { return Answer{"{}"}; });
  ExtenderWorld world(one_extender(extender, "bindVerb: bind"));
  world.node("a");
  world.pod("p");
  const std::string uid = world.simulation->cluster().find_pod("ns", "p")->uid;
  world.run();
  ASSERT_EQ(extender.questions().size(), 1U);
  EXPECT_EQ(extender.questions()[0].body,
            (json::value{{"PodName", "p"}, {"PodNamespace", "ns"}, {"PodUID", uid}, {"Node", "a"}}));
  EXPECT_EQ(world.place("p"), "a");
}

TEST(ExtenderBind, AnErrorGivesTheNodeBackAndThePodIsTriedAgain) {
  std::atomic<bool> broken{true};
  ScriptedExtender extender([&](const Question&) {
    return broken ? Answer::of({{"Error", "card is hot"}}) : Answer{"{}"};
  });
  ExtenderWorld world(one_extender(extender, "bindVerb: bind"));
  world.node("a", 1);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "");
  const model::PodPtr failed = world.simulation->cluster().find_pod("ns", "p");
  ASSERT_EQ(failed->conditions.size(), 1U);
  EXPECT_EQ(failed->conditions[0].reason, "SchedulerError");
  EXPECT_EQ(failed->conditions[0].message, "card is hot");
  EXPECT_EQ(world.simulation->scheduler().views().cache.counts().assumed_pods, 0U);
  broken = false;
  world.advance(std::chrono::seconds(30));
  EXPECT_EQ(world.place("p"), "a");
}

TEST(ExtenderBind, AnIgnorableOneThatFailsLeavesItToTheBindPlugins) {
  for (const Answer& failing : {Answer::of({{"Error", "card is hot"}}), Answer{"", 404}}) {
    ScriptedExtender extender([&](const Question&) { return failing; });
    ExtenderWorld world(one_extender(extender, "bindVerb: bind, ignorable: true"));
    world.node("a");
    world.pod("p");
    world.run();
    EXPECT_EQ(extender.questions().size(), 1U);
    EXPECT_EQ(world.place("p"), "a");
  }
}

TEST(ExtenderBind, PodsOfNoInterestAreBoundByThePlugins) {
  ScriptedExtender extender([](const Question&) { return Answer::of({{"Error", "not mine"}}); });
  ExtenderWorld world(one_extender(extender, "bindVerb: bind, managedResources: [{name: example.com/gpu-mem}]"));
  world.node("a");
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "a");
  EXPECT_TRUE(extender.questions().empty());
}

TEST(ExtenderBind, IsAskedAboutEachOfManyPods) {
  ScriptedExtender extender([](const Question&) { return Answer{"{\"error\": \"\"}"}; });
  ExtenderWorld world(one_extender(extender, "bindVerb: bind"));
  for (int i = 0; i < 10; ++i) world.node("n" + std::to_string(i), 10);
  for (int i = 0; i < 100; ++i) world.pod("p" + std::to_string(i));
  world.run();
  EXPECT_EQ(extender.questions().size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_NE(world.place("p" + std::to_string(i)), "");
  EXPECT_EQ(extender.connections(), 1U);
}

}  // namespace
}  // namespace berth::tests
