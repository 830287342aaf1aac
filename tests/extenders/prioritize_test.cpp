// SPDX-License-Identifier: Apache-2.0
// What an extender's scores do to the choice of a node.
#include "extenders/extender_fixture.hpp"

namespace berth::tests {
namespace {

// Nothing but resources counts, so that equal nodes are equal.
constexpr const char* k_least_allocated =
    "profiles: [{plugins: {multiPoint: {disabled: [{name: \"*\"}], enabled: [{name: PrioritySort}, {name: "
    "DefaultBinder}, "
    "{name: NodeResourcesFit, weight: 1}]}}}]";
constexpr const char* k_no_score =
    "profiles: [{plugins: {multiPoint: {disabled: [{name: \"*\"}], enabled: [{name: PrioritySort}, {name: "
    "DefaultBinder}, "
    "{name: NodeName}]}}}]";

Answer scores(std::initializer_list<std::pair<const char*, std::int64_t>> list) {
  json::array out;
  for (const auto& [host, score] : list) out.emplace_back(json::object{{"Host", host}, {"Score", score}});
  return Answer::of(out);
}

std::int64_t total(ExtenderWorld& world, const std::string& node) {
  world.simulation->cluster().deliver();
  const model::PodPtr pod = world.simulation->cluster().find_pod("ns", "p");
  for (const cycle::NodeExplanation& one : world.simulation->scheduler().explain(pod).nodes)
    if (one.node == node) return one.total;
  return -1;
}

TEST(ExtenderPrioritize, AScoreCountsTenTimesItsWeight) {
  ScriptedExtender extender([](const Question&) { return scores({{"b", 7}, {"c", 2}}); });
  ExtenderWorld plain("[]", k_least_allocated),
      world(one_extender(extender, "prioritizeVerb: rank, weight: 3"), k_least_allocated);
  for (ExtenderWorld* one : {&plain, &world}) {
    three_nodes(*one);
    one->pod("p");
  }
  for (const auto& [node, added] : {std::pair{"a", 0}, std::pair{"b", 210}, std::pair{"c", 60}})
    EXPECT_EQ(total(world, node), total(plain, node) + added) << node;
  world.run();
  EXPECT_EQ(world.place("p"), "b");
  EXPECT_EQ(nodes_of(extender.questions("rank").back()).size(), 3U);
}

TEST(ExtenderPrioritize, WhereScoresEndAtTenAScoreCountsItsWeight) {
  const std::string of_old =
      std::string(k_no_score) +
      "\n---\napiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nlegacy: {maxNodeScore: 10}\n";
  ScriptedExtender extender([](const Question&) { return scores({{"b", 7}, {"c", 2}}); });
  ExtenderWorld world(one_extender(extender, "prioritizeVerb: rank, weight: 3"), of_old);
  three_nodes(world);
  world.pod("p");
  for (const auto& [node, points] : {std::pair{"a", 0}, std::pair{"b", 21}, std::pair{"c", 6}})
    EXPECT_EQ(total(world, node), points) << node;
}

TEST(ExtenderPrioritize, IsNotAskedAboutTheOnlyNode) {
  ScriptedExtender extender([](const Question&) { return scores({}); });
  ExtenderWorld world(one_extender(extender, "prioritizeVerb: rank, weight: 1"));
  world.node("a");
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "a");
  EXPECT_TRUE(extender.questions().empty());
}

TEST(ExtenderPrioritize, FailuresAreNoScores) {
  for (const Answer& failing :
       {Answer{"[]", 503}, Answer{"{\"Error\": \"no\"}"}, Answer{"[{\"Host\": \"b\", \"Score\": 7.5}]"}, Answer{"["}}) {
    ScriptedExtender broken([&](const Question&) { return failing; });
    ScriptedExtender sound([](const Question&) { return scores({{"c", 1}}); });
    ExtenderWorld world("[{urlPrefix: " + broken.url() +
                            ", prioritizeVerb: rank, weight: 9, nodeCacheCapable: true}, {urlPrefix: " + sound.url() +
                            ", prioritizeVerb: rank, weight: 1, nodeCacheCapable: true}]",
                        k_no_score);
    three_nodes(world);
    world.pod("p");
    world.run();
    EXPECT_EQ(world.place("p"), "c") << world.message("p");
    EXPECT_EQ(broken.questions().size(), 1U);
  }
}

TEST(ExtenderPrioritize, UnknownHostsAreIgnoredRepeatedOnesAddUpAndNothingIsClamped) {
  ScriptedExtender extender([](const Question&) {
    return scores({{"nowhere", 900}, {"a", 60}, {"b", 40}, {"b", 40}, {"c", -5}});
  });
  ExtenderWorld world(one_extender(extender, "prioritizeVerb: rank, weight: 2"), k_no_score);
  three_nodes(world);
  world.pod("p");
  EXPECT_EQ(total(world, "a"), 1200);
  EXPECT_EQ(total(world, "b"), 1600);
  EXPECT_EQ(total(world, "c"), -100);
  world.run();
  EXPECT_EQ(world.place("p"), "b");
}

TEST(ExtenderPrioritize, ANodeWithAWordWinsAgainstAnEqualOneWithout) {
  ScriptedExtender extender([](const Question&) { return scores({{"c", 0}}); });
  ExtenderWorld world(one_extender(extender, "prioritizeVerb: rank, weight: 1"), k_no_score);
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "c");
}

TEST(ExtenderPrioritize, SeveralAddUp) {
  ScriptedExtender first([](const Question&) { return scores({{"a", 5}, {"b", 3}}); });
  ScriptedExtender second([](const Question&) { return scores({{"b", 3}}); });
  ExtenderWorld world("[{urlPrefix: " + first.url() +
                          ", prioritizeVerb: r, weight: 1, nodeCacheCapable: true}, {urlPrefix: " + second.url() +
                          ", prioritizeVerb: r, weight: 1, nodeCacheCapable: true}]",
                      k_no_score);
  three_nodes(world);
  world.pod("p");
  EXPECT_EQ(total(world, "b"), 60);
  world.run();
  EXPECT_EQ(world.place("p"), "b");
}

TEST(ExtenderPrioritize, FollowsTheFilterOfTheSameExtender) {
  ScriptedExtender extender([](const Question& question) {
    return question.verb == "filter" ? passing({"b", "c"}) : scores({{"a", 10}, {"c", 1}});
  });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter, prioritizeVerb: rank, weight: 1"), k_no_score);
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "c");
  EXPECT_EQ(nodes_of(extender.questions("rank")[0]), (std::vector<std::string>{"b", "c"}));
}

TEST(ExtenderPrioritize, PodsOfNoInterestKeepTheirOrder) {
  ScriptedExtender extender([](const Question&) { return scores({{"c", 10}}); });
  ExtenderWorld world(
      one_extender(extender, "prioritizeVerb: rank, weight: 1, managedResources: [{name: example.com/gpu-mem}]"),
      k_no_score);
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "a");
  EXPECT_TRUE(extender.questions().empty());
}

}  // namespace
}  // namespace berth::tests
