// SPDX-License-Identifier: Apache-2.0
// What an extender says about the nodes on which a preemption could happen.
#include "extenders/extender_fixture.hpp"

namespace berth::tests {
namespace {

/// Two full nodes with two pods each; the more important ones are on b.
class PreemptionWorld {
 public:
  PreemptionWorld(const std::string& extenders) : world(extenders) {
    for (const char* node : {"a", "b"}) world.node(node);
    world.pod_on("a", "a-low", 1, 2);
    world.pod_on("a", "a-high", 2, 2);
    world.pod_on("b", "b-low", 3, 2);
    world.pod_on("b", "b-high", 4, 2);
  }
  std::string uid(const std::string& name) { return world.simulation->cluster().find_pod("ns", name)->uid; }
  report::Decision& decide() {
    world.keeps_first = true;  // what follows waits for the victims
    world.pod("p", "requests: {cpu: 2}", "priority: 100");
    world.run();
    return world.decisions["p"];
  }
  ExtenderWorld world;
};

json::value victims(const std::vector<std::string>& uids, int violations = 0) {
  json::array pods;
  for (const std::string& uid : uids) pods.emplace_back(json::object{{"UID", uid}});
  return {{"Pods", pods}, {"NumPDBViolations", violations}};
}

Answer by_node(const json::value& map) { return Answer::of({{"NodeNameToMetaVictims", map}}); }

/// What it is asked, given back as it is.
Answer agreeing(const Question& question) { return by_node(question.body.at("NodeNameToMetaVictims")); }

TEST(ExtenderPreempt, IsAskedAboutEveryCandidateByUid) {
  ScriptedExtender extender(agreeing);
  PreemptionWorld it(one_extender(extender, "preemptVerb: preempt"));
  const json::value expected{{"a", victims({it.uid("a-low")})}, {"b", victims({it.uid("b-low")})}};
  const report::Decision& decision = it.decide();
  ASSERT_EQ(extender.questions().size(), 1U);
  EXPECT_EQ(extender.questions()[0].body.at("NodeNameToMetaVictims"), expected);
  EXPECT_TRUE(extender.questions()[0].body.at("NodeNameToVictims").is_null());
  EXPECT_EQ(extender.questions()[0].body.at("Pod").at("metadata").at("name"), "p");
  EXPECT_EQ(decision.nominated_node, "a");
  EXPECT_EQ(decision.victims, std::vector<std::string>{"ns/a-low"});
}

TEST(ExtenderPreempt, IsShownWholePodsWhenItKnowsNoNodes) {
  ScriptedExtender extender([](const Question& question) {
    json::object out;
    for (const auto& [node, of_node] : question.body.at("NodeNameToVictims").as_object()) {
      json::array pods;
      for (const json::value& pod : of_node.at("Pods").as_array())
        pods.emplace_back(json::object{{"UID", pod.at("metadata").at("uid")}});
      out[node] = {{"Pods", pods}, {"NumPDBViolations", 0}};
    }
    return by_node(out);
  });
  PreemptionWorld it("[{urlPrefix: " + extender.url() + ", preemptVerb: preempt}]");
  EXPECT_EQ(it.decide().nominated_node, "a");
  const json::value pod = extender.questions()[0].body.at("NodeNameToVictims").at("b").at("Pods").at(0);
  EXPECT_EQ(pod.at("metadata").at("name"), "b-low");
  EXPECT_EQ(pod.at("metadata").at("annotations").at("example.com/note"), "kept");
  EXPECT_EQ(pod.at("spec").at("nodeName"), "b");
  EXPECT_TRUE(extender.questions()[0].body.at("NodeNameToMetaVictims").is_null());
}

TEST(ExtenderPreempt, MayDropNodesAndNameOtherVictims) {
  PreemptionWorld* world = nullptr;
  ScriptedExtender extender([&](const Question&) {
    return by_node({{"b", victims({world->uid("b-low"), world->uid("b-high")})}});
  });
  PreemptionWorld it(one_extender(extender, "preemptVerb: preempt"));
  world = &it;
  const report::Decision& decision = it.decide();
  EXPECT_EQ(decision.nominated_node, "b");
  EXPECT_EQ(decision.victims, (std::vector<std::string>{"ns/b-high", "ns/b-low"}));
  ASSERT_NE(decision.preemption, nullptr);
  EXPECT_EQ(decision.preemption->candidates, 1U) << "a is none any more";
}

TEST(ExtenderPreempt, TheBestOfWhatItLeavesIsChosenByItsVictims) {
  PreemptionWorld* world = nullptr;
  ScriptedExtender extender([&](const Question&) {
    // With more important victims, a is worse than b.
    return by_node(
        {{"a", victims({world->uid("a-low"), world->uid("a-high")})}, {"b", victims({world->uid("b-low")})}});
  });
  PreemptionWorld it(one_extender(extender, "preemptVerb: preempt"));
  world = &it;
  // a's most important victim has priority 2, b's 3: still a.
  EXPECT_EQ(it.decide().nominated_node, "a");
}

TEST(ExtenderPreempt, ItsCountOfViolationsDecides) {
  PreemptionWorld* world = nullptr;
  ScriptedExtender extender([&](const Question&) {
    return by_node({{"a", victims({world->uid("a-low")}, 1)}, {"b", victims({world->uid("b-low")})}});
  });
  PreemptionWorld it(one_extender(extender, "preemptVerb: preempt"));
  world = &it;
  EXPECT_EQ(it.decide().nominated_node, "b");
}

TEST(ExtenderPreempt, AnEmptyAnswerEndsIt) {
  ScriptedExtender extender([](const Question&) { return by_node(json::object{}); });
  ScriptedExtender second(agreeing);
  PreemptionWorld it("[{urlPrefix: " + extender.url() +
                     ", preemptVerb: preempt, nodeCacheCapable: true}, {urlPrefix: " + second.url() +
                     ", preemptVerb: preempt, nodeCacheCapable: true}]");
  const report::Decision& decision = it.decide();
  EXPECT_EQ(decision.nominated_node, "");
  EXPECT_TRUE(decision.victims.empty());
  EXPECT_NE(decision.post_filter_message.get().find("preemption: no candidate node for preemption"), std::string::npos);
  EXPECT_TRUE(second.questions().empty());
}

TEST(ExtenderPreempt, AnEmptyAnswerLeavesThePodItsNomination) {
  ScriptedExtender extender([](const Question&) { return by_node(json::object{}); });
  PreemptionWorld it(one_extender(extender, "preemptVerb: preempt"));
  it.world.put(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {priority: 100, containers: [{name: c, "
      "image: i, resources: {requests: {cpu: 2}}}]}, status: {nominatedNodeName: a}}");
  it.world.run();
  EXPECT_EQ(extender.questions().size(), 1U);
  EXPECT_NE(it.world.simulation->cluster().find_pod("ns", "p")->nominated_node, k_no_symbol);
}

struct Broken {
  const char* name;
  std::function<Answer(PreemptionWorld&)> answer;
  std::string words;
};

TEST(ExtenderPreempt, WhatCannotBeIsAnErrorOrIsSkippedWhenIgnorable) {
  const Broken cases[] = {{"status",
                           [](PreemptionWorld&) {
                             return Answer{"{}", 500};
                           },
                           "code 500"},
                          {"unknown node",
                           [](PreemptionWorld& w) {
                             return by_node({{"x", victims({w.uid("a-low")})}});
                           },
                           "nodeinfo not found for node name \"x\""},
                          {"pod of another node",
                           [](PreemptionWorld& w) {
                             return by_node({{"a", victims({w.uid("b-low")})}});
                           },
                           "but the pod is not found on that node"}};
  for (const Broken& broken : cases)
    for (const bool ignorable : {false, true}) {
      PreemptionWorld* world = nullptr;
      ScriptedExtender extender([&](const Question&) { return broken.answer(*world); });
      PreemptionWorld it(
          one_extender(extender, std::string("preemptVerb: preempt, ignorable: ") + (ignorable ? "true" : "false")));
      world = &it;
      const report::Decision& decision = it.decide();
      EXPECT_EQ(decision.nominated_node, ignorable ? "a" : "") << broken.name;
      EXPECT_EQ(decision.post_filter_message.get().find(broken.words) != std::string::npos, !ignorable)
          << broken.name << ": " << decision.post_filter_message.get();
    }
}

TEST(ExtenderPreempt, ANodeWithoutVictimsIsAnErrorOrDroppedWhenIgnorable) {
  for (const bool ignorable : {false, true}) {
    PreemptionWorld* world = nullptr;
    ScriptedExtender extender([&](const Question&) {
      return by_node({{"a", victims({})}, {"b", victims({world->uid("b-low")})}});
    });
    PreemptionWorld it(
        one_extender(extender, std::string("preemptVerb: preempt, ignorable: ") + (ignorable ? "true" : "false")));
    world = &it;
    const report::Decision& decision = it.decide();
    EXPECT_EQ(decision.nominated_node, ignorable ? "b" : "");
    EXPECT_EQ(
        decision.post_filter_message.get().find("expected at least one victim pod on node \"a\"") != std::string::npos,
        !ignorable);
  }
}

TEST(ExtenderPreempt, PodsOfNoInterestAreNotAskedAbout) {
  ScriptedExtender extender([](const Question&) { return Answer{"{}", 500}; });
  PreemptionWorld it(one_extender(extender, "preemptVerb: preempt, managedResources: [{name: example.com/gpu-mem}]"));
  EXPECT_EQ(it.decide().nominated_node, "a");
  EXPECT_TRUE(extender.questions().empty());
}

TEST(ExtenderPreempt, NodesThatItRejectedForGoodAreNoCandidates) {
  ScriptedExtender extender([](const Question& question) {
    if (question.verb == "preempt") return agreeing(question);
    return Answer::of({{"NodeNames", json::array{}}, {"FailedAndUnresolvableNodes", {{"c", "no card at all"}}}});
  });
  PreemptionWorld it(one_extender(extender, "filterVerb: filter, preemptVerb: preempt"));
  it.world.node("c");
  const report::Decision& decision = it.decide();
  EXPECT_EQ(decision.nominated_node, "a");
  EXPECT_EQ(decision.message, "0/3 nodes are available: 1 no card at all, 2 Insufficient cpu.");
}

}  // namespace
}  // namespace berth::tests
