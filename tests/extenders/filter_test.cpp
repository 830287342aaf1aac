// SPDX-License-Identifier: Apache-2.0
// What an extender's filter does to a pod's attempt.
#include "extenders/extender_fixture.hpp"

namespace berth::tests {
namespace {

TEST(ExtenderFilter, IsAskedAboutTheNodesThatPassedTheFilters) {
  ScriptedExtender extender([](const Question&) { return passing({"c"}); });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.node("small", 0);
  world.pod("p");
  world.run();
  ASSERT_EQ(extender.questions().size(), 1U);
  EXPECT_EQ(nodes_of(extender.questions()[0]), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(extender.questions()[0].body.at("Nodes").is_null());
  EXPECT_EQ(world.place("p"), "c");
  EXPECT_EQ(world.decisions["p"].feasible_nodes, 1U);
}

TEST(ExtenderFilter, IsShownWholeObjectsWhenItKnowsNoNodes) {
  ScriptedExtender extender([](const Question& question) {
    return Answer::of({{"Nodes", {{"items", json::array{question.body.at("Nodes").at("items").at(1)}}}}});
  });
  ExtenderWorld world("[{urlPrefix: " + extender.url() + ", filterVerb: filter}]");
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "b");
  ASSERT_EQ(extender.questions().size(), 1U);
  const json::value asked = extender.questions()[0].body;
  EXPECT_TRUE(asked.at("NodeNames").is_null());
  EXPECT_EQ(asked.at("Nodes").at("metadata"), json::object());
  const json::value& node = asked.at("Nodes").at("items").at(0);
  EXPECT_EQ(node.at("status").at("capacity").at("example.com/gpu-mem"), 32);
  EXPECT_EQ(node.at("metadata").at("labels").at("example.com/rack"), "r1");
  EXPECT_FALSE(node.as_object().contains("kind"));
  const json::value& pod = asked.at("Pod");
  EXPECT_EQ(pod.at("metadata").at("annotations").at("example.com/note"), "kept");
  EXPECT_EQ(pod.at("metadata").at("namespace"), "ns");
  EXPECT_FALSE(pod.at("metadata").at("uid").as_string().empty());
  EXPECT_EQ(pod.at("spec").at("containers").at(0).at("image"), "i");
  EXPECT_FALSE(pod.as_object().contains("kind"));
  EXPECT_FALSE(pod.as_object().contains("apiVersion"));
}

TEST(ExtenderFilter, ItsReasonsAreCountedLikeThoseOfPlugins) {
  ScriptedExtender extender([](const Question&) {
    return Answer::of({{"NodeNames", json::array{}},
                       {"FailedNodes", {{"a", "no card"}, {"b", "no card"}}},
                       {"FailedAndUnresolvableNodes", {{"b", "no driver"}}}});
  });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.node("small", 0);
  world.pod("p");
  world.run();
  // c was left out without a word; b counts as what the second list says.
  EXPECT_EQ(world.decisions["p"].message, "0/4 nodes are available: 1 Insufficient cpu, 1 no card, 1 no driver.");
  EXPECT_EQ(world.place("p"), "");
}

TEST(ExtenderFilter, AnyEventWakesPodsThatItRejected) {
  std::atomic<bool> open{false};
  ScriptedExtender extender(
      [&](const Question& question) { return passing(open ? nodes_of(question) : std::vector<std::string>{}); });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.pod("p");
  world.run();
  const int before = world.attempts["p"];
  open = true;
  world.advance(std::chrono::seconds(30));
  EXPECT_EQ(world.attempts["p"], before) << "nothing happened that could help";
  world.pod_on("a", "other", 0, 0);  // no plugin that rejected it would care
  world.advance(std::chrono::seconds(30));
  EXPECT_EQ(world.attempts["p"], before + 1);
  EXPECT_NE(world.place("p"), "");
}

TEST(ExtenderFilter, WithoutAListNoNodePasses) {
  ScriptedExtender extender([](const Question&) { return Answer{"null"}; });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.decisions["p"].code, framework::Code::unschedulable);
  EXPECT_EQ(world.decisions["p"].message, "0/3 nodes are available:");
}

TEST(ExtenderFilter, ACapableOneMayAnswerWithObjects) {
  ScriptedExtender extender([](const Question&) {
    return Answer::of({{"Nodes", {{"items", json::array{{{"metadata", {{"name", "b"}}}}}}}}});
  });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.place("p"), "b");
}

TEST(ExtenderFilter, ObjectsMayBeOfNodesThatWereNotAskedAbout) {
  for (const char* const capable : {"true", "false"}) {
    ScriptedExtender extender([&](const Question& question) {
      EXPECT_EQ(nodes_of(question).size(), 3U) << "full does not fit";
      return Answer::of(
          {{"Nodes",
            {{"items", json::array{{{"metadata", {{"name", "full"}}}}, {{"metadata", {{"name", "full"}}}}}}}}});
    });
    ScriptedExtender second([&](const Question& question) {
      EXPECT_EQ(nodes_of(question), std::vector<std::string>{"full"});
      return passing({"full"});
    });
    ExtenderWorld world("[{urlPrefix: " + extender.url() + ", filterVerb: filter, nodeCacheCapable: " + capable +
                        "}, {urlPrefix: " + second.url() + ", filterVerb: filter, nodeCacheCapable: true}]");
    three_nodes(world);
    world.node("full", 0);
    world.pod("p");
    world.run();
    EXPECT_EQ(world.place("p"), "full") << world.message("p");
  }
}

TEST(ExtenderFilter, NodesThatWereNotAskedAboutAreAnError) {
  for (const char* const capable : {"true", "false"}) {
    ScriptedExtender extender([&](const Question&) {
      return std::string_view(capable) == "true"
                 ? passing({"elsewhere"})
                 : Answer::of({{"Nodes", {{"items", json::array{{{"metadata", {{"name", "elsewhere"}}}}}}}}});
    });
    ExtenderWorld world("[{urlPrefix: " + extender.url() + ", filterVerb: filter, nodeCacheCapable: " + capable + "}]");
    three_nodes(world);
    world.pod("p");
    world.run();
    EXPECT_EQ(world.decisions["p"].code, framework::Code::error);
    EXPECT_EQ(world.decisions["p"].message,
              "extender \"" + extender.url() +
                  "\" claims a filtered node \"elsewhere\" which is not found in the input node list");
  }
}

TEST(ExtenderFilter, AnErrorInTheAnswerEndsTheAttempt) {
  ScriptedExtender extender([](const Question&) { return Answer::of({{"Error", "out of tea"}}); });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_EQ(world.decisions["p"].code, framework::Code::error);
  EXPECT_EQ(world.decisions["p"].message, "out of tea");
}

TEST(ExtenderFilter, AnIgnorableOneIsSkippedWhenItFails) {
  for (const Answer& failing :
       {Answer::of({{"Error", "out of tea"}}), Answer{"{}", 500}, Answer{"garbage"}, passing({"nowhere"})}) {
    ScriptedExtender extender([&](const Question&) { return failing; });
    ExtenderWorld world(one_extender(extender, "filterVerb: filter, ignorable: true"));
    three_nodes(world);
    world.pod("p");
    world.run();
    EXPECT_NE(world.place("p"), "") << world.message("p");
  }
}

TEST(ExtenderFilter, EachSeesWhatTheOneBeforeLeftAndTheIgnorableOnesComeLast) {
  std::mutex mutex;  // the two answer on threads of their own
  std::vector<std::string> order;
  const auto called = [&](const char* who) {
    const std::lock_guard lock(mutex);
    order.emplace_back(who);
  };
  ScriptedExtender first([&](const Question& question) {
    called("may fail");
    EXPECT_EQ(nodes_of(question), (std::vector<std::string>{"b", "a"}));
    return passing({"a"});
  });
  ScriptedExtender second([&](const Question& question) {
    called("must not");
    EXPECT_EQ(nodes_of(question).size(), 3U);
    return passing({"b", "a"});
  });
  ExtenderWorld world("[{urlPrefix: " + first.url() +
                      ", filterVerb: filter, nodeCacheCapable: true, ignorable: true}, {urlPrefix: " + second.url() +
                      ", filterVerb: filter, nodeCacheCapable: true}]");
  three_nodes(world);
  world.pod("p");
  world.run();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(order, (std::vector<std::string>{"must not", "may fail"}));
  EXPECT_EQ(world.place("p"), "a");
}

TEST(ExtenderFilter, NoExtenderIsAskedOnceNoNodeIsLeft) {
  ScriptedExtender closed([](const Question&) { return passing({}); });
  ScriptedExtender second([](const Question& question) { return passing(nodes_of(question)); });
  ExtenderWorld world("[{urlPrefix: " + closed.url() + ", filterVerb: filter, nodeCacheCapable: true}, {urlPrefix: " +
                      second.url() + ", filterVerb: filter, nodeCacheCapable: true}]");
  three_nodes(world);
  world.pod("p");
  world.run();
  EXPECT_TRUE(second.questions().empty());
  world.pod("too-big", "requests: {cpu: 100}");
  world.run();
  for (const Question& question : closed.questions())
    EXPECT_EQ(question.body.at("Pod").at("metadata").at("name"), "p") << "no node passed the plugins for the other";
}

TEST(ExtenderFilter, OnlyPodsThatNameAManagedResourceAreOfInterest) {
  ScriptedExtender extender([](const Question&) { return passing({"b"}); });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter, managedResources: [{name: example.com/gpu-mem}]"));
  three_nodes(world);
  world.pod("plain");
  world.pod("asks", "requests: {example.com/gpu-mem: 1}, limits: {example.com/gpu-mem: 1}");
  world.pod("nothing", "limits: {example.com/gpu-mem: 0}");
  world.pod("first", "", "initContainers: [{name: i, image: i, resources: {limits: {example.com/gpu-mem: 2}}}]");
  world.pod("other", "requests: {cpu: 1}, limits: {example.com/other: 1}");
  world.run();
  std::vector<std::string> asked;
  for (const Question& question : extender.questions())
    asked.emplace_back(question.body.at("Pod").at("metadata").at("name").as_string());
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (std::vector<std::string>{"asks", "first", "nothing"}));
  EXPECT_EQ(world.place("asks"), "b");
}

TEST(ExtenderFilter, AResourceThatTheSchedulerIgnoresIsTheExtendersToCount) {
  ScriptedExtender extender([](const Question& question) { return passing(nodes_of(question)); });
  const std::string managed = "managedResources: [{name: example.com/gpu-mem, ignoredByScheduler: ";
  for (const bool ignored : {false, true}) {
    ExtenderWorld world(one_extender(extender, "filterVerb: filter, " + managed + (ignored ? "true}]" : "false}]")));
    three_nodes(world);
    world.pod("p", "requests: {example.com/gpu-mem: 1000}, limits: {example.com/gpu-mem: 1000}");
    world.run();
    EXPECT_EQ(world.place("p").empty(), !ignored);
  }
}

TEST(ExtenderFilter, ANominatedNodeIsAskedAboutByItself) {
  std::atomic<const char*> wanted{"b"};
  ScriptedExtender extender([&](const Question& question) {
    std::vector<std::string> names = nodes_of(question);
    std::erase_if(names, [&](const std::string& name) { return name != wanted.load(); });
    return passing(names);
  });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  const auto nominated = [&](const std::string& name) {
    world.put("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
              ", namespace: ns}, spec: {containers: [{name: c, image: i}]}, "
              "status: {nominatedNodeName: b}}");
    world.run();
  };
  nominated("p");
  ASSERT_EQ(extender.questions().size(), 1U);
  EXPECT_EQ(nodes_of(extender.questions()[0]), std::vector<std::string>{"b"});
  EXPECT_EQ(world.place("p"), "b");
  wanted = "c";  // then all the others
  nominated("q");
  ASSERT_EQ(extender.questions().size(), 3U);
  EXPECT_EQ(nodes_of(extender.questions()[1]), std::vector<std::string>{"b"});
  EXPECT_EQ(nodes_of(extender.questions()[2]).size(), 3U);
  EXPECT_EQ(world.place("q"), "c");
}

TEST(ExtenderFilter, TheNodesThatItPutsInPlaceOfANominatedOneAreGoneOnWith) {
  for (const bool several : {false, true}) {
    ScriptedExtender extender([&](const Question&) {
      json::array items;
      if (several) items.push_back(json::object{{"metadata", json::object{{"name", "full"}}}});
      items.push_back(json::object{{"metadata", json::object{{"name", "c"}}}});
      return Answer::of({{"Nodes", {{"items", items}}}, {"FailedNodes", {{"b", "no card"}}}});
    });
    ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
    three_nodes(world);
    world.node("full", 1);
    world.pod_on("full", "other", 0, 1);
    world.put(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {containers: [{name: c, image: i, "
        "resources: {requests: {cpu: 1}}}]}, status: {nominatedNodeName: b}}");
    world.run();
    ASSERT_EQ(extender.questions().size(), 1U) << "nothing else was searched";
    EXPECT_EQ(nodes_of(extender.questions()[0]), std::vector<std::string>{"b"});
    EXPECT_EQ(world.place("p"), "c") << "the one with more room, where there are several";
    EXPECT_EQ(world.decisions["p"].feasible_nodes, several ? 2U : 1U);
    EXPECT_EQ(world.decisions["p"].evaluated_nodes, several ? 3U : 2U) << "b counts as rejected";
  }
}

TEST(ExtenderFilter, ManyNodesAreLookedForAlsoWhenNothingScores) {
  ScriptedExtender extender([](const Question&) { return passing({"c"}); });
  ExtenderWorld world(
      one_extender(extender, "filterVerb: filter"),
      "profiles: [{plugins: {score: {disabled: [{name: \"*\"}]}, multiPoint: {disabled: [{name: \"*\"}], "
      "enabled: [{name: PrioritySort}, {name: NodeName}, {name: DefaultBinder}]}}}]");
  three_nodes(world);
  world.pod("p");
  world.run();
  ASSERT_EQ(extender.questions().size(), 1U);
  EXPECT_EQ(nodes_of(extender.questions()[0]).size(), 3U);
  EXPECT_EQ(world.place("p"), "c");
}

TEST(ExtenderFilter, WhatWasFoundOutForAPodHoldsForNoOther) {
  std::size_t next = 0;
  ScriptedExtender extender([&](const Question& question) { return passing({nodes_of(question)[next++ % 3]}); });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  for (const char* name : {"p", "q", "r"}) world.pod(name);
  world.run();
  EXPECT_EQ(extender.questions().size(), 3U);
  EXPECT_EQ((std::set<std::string>{world.place("p"), world.place("q"), world.place("r")}).size(), 3U);
}

/// What is said of each node, before the pod is decided about.
std::map<std::string, cycle::NodeExplanation> explained(ExtenderWorld& world, const char* pod) {
  const model::PodPtr found = world.simulation->cluster().find_pod("ns", pod);
  std::map<std::string, cycle::NodeExplanation> by_node;
  world.run();
  const cycle::Explanation explanation = world.simulation->scheduler().explain(found);
  EXPECT_EQ(explanation.error, "");
  for (const cycle::NodeExplanation& node : explanation.nodes) {
    EXPECT_FALSE(by_node.contains(node.node)) << node.node;
    by_node[node.node] = node;
  }
  return by_node;
}

TEST(ExtenderFilter, ExplanationsNameTheExtender) {
  ScriptedExtender extender([](const Question&) {
    return Answer::of({{"NodeNames", json::array{"c"}}, {"FailedNodes", {{"a", "no card"}}}});
  });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.pod("p");
  std::map<std::string, cycle::NodeExplanation> by_node = explained(world, "p");
  EXPECT_EQ(by_node["a"].plugin, extender.url());
  EXPECT_EQ(by_node["a"].code, framework::Code::unschedulable);
  EXPECT_EQ(by_node["a"].reasons, std::vector<std::string>{"no card"});
  EXPECT_EQ(by_node["b"].code, framework::Code::unresolvable);
  EXPECT_EQ(by_node["c"].code, framework::Code::success);
}

TEST(ExtenderFilter, ExplanationsHoldTheNodesThatItAdded) {
  ScriptedExtender extender([](const Question&) {
    return Answer::of({{"Nodes",
                        {{"items", json::array{{{"metadata", {{"name", "b"}}}},
                                               {{"metadata", {{"name", "full"}}}},
                                               {{"metadata", {{"name", "elsewhere"}}}}}}}}});
  });
  ExtenderWorld world(one_extender(extender, "filterVerb: filter"));
  three_nodes(world);
  world.node("full", 0);
  world.node("elsewhere");
  world.pod("p", "requests: {cpu: 1}",
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
            "{matchFields: [{key: metadata.name, operator: In, values: [a]}]}, "
            "{matchFields: [{key: metadata.name, operator: In, values: [b]}]}, "
            "{matchFields: [{key: metadata.name, operator: In, values: [full]}]}]}}}");
  std::map<std::string, cycle::NodeExplanation> by_node = explained(world, "p");
  EXPECT_EQ(by_node.size(), 4U) << "pre-filter left out c";
  EXPECT_EQ(by_node["a"].code, framework::Code::unresolvable);
  EXPECT_TRUE(by_node["a"].scores.empty());
  for (const char* name : {"b", "full", "elsewhere"}) {
    EXPECT_EQ(by_node[name].code, framework::Code::success) << name;
    EXPECT_EQ(by_node[name].plugin, "") << name;
    EXPECT_TRUE(by_node[name].reasons.empty()) << name;
    EXPECT_FALSE(by_node[name].scores.empty()) << name;
  }
  EXPECT_EQ(by_node["b"].total, by_node["elsewhere"].total) << "alike, though one of them was not among those judged";
  EXPECT_NE(by_node["b"].total, by_node["full"].total) << "each has its own points";
}

}  // namespace
}  // namespace berth::tests
