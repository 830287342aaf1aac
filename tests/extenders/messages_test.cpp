// SPDX-License-Identifier: Apache-2.0
// What is on the wire, letter by letter.
#include "extender/messages.hpp"

#include <gtest/gtest.h>

namespace berth::extender {
namespace {

model::PodPtr pod(const std::string& name, const std::string& body) {
  auto out = std::make_shared<model::Pod>();
  out->name = name;
  out->ns = "ns";
  out->uid = "u-" + name;
  out->body = PackedText(body);
  return out;
}

std::vector<model::NodePtr> nodes() {
  std::vector<model::NodePtr> out;
  for (const char* name : {"a", "b\"c"}) {
    auto node = std::make_shared<model::Node>();
    node->name = name;
    node->body = PackedText(R"({"metadata":{}})");
    out.push_back(node);
  }
  return out;
}

TEST(ExtenderMessages, NodesAreNamesOrObjects) {
  NodeBodies bodies;
  EXPECT_EQ(*nodes_request(*pod("p", "{\"x\":1}"), nodes(), nullptr),
            R"({"Pod":{"x":1},"Nodes":null,"NodeNames":["a","b\"c"]})");
  EXPECT_EQ(*nodes_request(*pod("p", "{}"), nodes(), &bodies),
            R"({"Pod":{},"Nodes":{"metadata":{},"items":[{"metadata":{}},{"metadata":{}}]},"NodeNames":null})");
}

TEST(ExtenderMessages, ABodyIsUnpackedOnceForAsLongAsItsNodeStays) {
  NodeBodies bodies;
  std::vector<model::NodePtr> known = nodes();
  std::string first, again;
  bodies.append_list(first, known);
  bodies.append_list(again, known);
  EXPECT_EQ(first, R"([{"metadata":{}},{"metadata":{}}])");
  EXPECT_EQ(first, again);
  EXPECT_EQ(bodies.count(), known.size());
  constexpr std::size_t k_changes = 1000;
  std::string text;
  for (std::size_t i = 0; i < k_changes; ++i) {
    auto newer = std::make_shared<model::Node>(*known[0]);
    newer->body = PackedText("{\"v\":" + std::to_string(i) + "}");
    known[0] = newer;
    text.clear();
    bodies.append_list(text, known);
    ASSERT_EQ(text, "[{\"v\":" + std::to_string(i) + R"(},{"metadata":{}}])");
  }
  EXPECT_LT(bodies.count(), k_changes / 5) << "those of former nodes go";
}

TEST(ExtenderMessages, AnObjectThatWasNotKeptIsAnError) {
  NodeBodies bodies;
  model::Pod without;
  without.name = "p";
  EXPECT_FALSE(nodes_request(without, nodes(), nullptr).ok());
  EXPECT_FALSE(preempt_request(without, {}, VictimForm::uids).ok());
  const std::vector<model::NodePtr> bare{std::make_shared<model::Node>()};
  EXPECT_FALSE(nodes_request(*pod("p", "{}"), bare, &bodies).ok());
  EXPECT_TRUE(nodes_request(*pod("p", "{}"), bare, nullptr).ok());
}

TEST(ExtenderMessages, VictimsAreUidsOrPodsOnTheirNode) {
  const Extender::ByNode<Extender::Victims> victims{{"n", {{pod("v", R"({"spec":{"priority":1}})")}, 2}}};
  EXPECT_EQ(
      *preempt_request(*pod("p", "{}"), victims, VictimForm::uids),
      R"({"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u-v"}],"NumPDBViolations":2}}})");
  EXPECT_EQ(
      *preempt_request(*pod("p", "{}"), victims, VictimForm::pods),
      R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[{"spec":{"priority":1,"nodeName":"n"}}],"NumPDBViolations":2}},"NodeNameToMetaVictims":null})");
  EXPECT_EQ(
      *preempt_request(*pod("p", "{}"), {{"n", {{}, 0}}}, VictimForm::pods_and_old_name),
      R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[],"NumPDBViolations":0}},"nodeToVictims":{"n":{"Pods":[],"NumPDBViolations":0}},"NodeNameToMetaVictims":null})");
}

TEST(ExtenderMessages, WhatIsNotUtf8IsReplaced) {
  const auto filtered = filter_answer("{\"NodeNames\":[],\"FailedNodes\":{\"a\":\"na\xefve \xff\"}}", true);
  ASSERT_TRUE(filtered.ok()) << filtered.error().message;
  EXPECT_EQ(filtered->failed.at("a"), "na\xef\xbf\xbdve \xef\xbf\xbd");
}

TEST(ExtenderMessages, KeysMatchWhateverTheirCaseAndTheLastOneCounts) {
  const auto filtered =
      filter_answer(R"({"nodenames":["x"],"NODENAMES":["a"],"failedNodes":{"b":"why"},"error":""})", true);
  ASSERT_TRUE(filtered.ok());
  EXPECT_EQ(filtered->passed, std::vector<std::string>{"a"});
  EXPECT_EQ(filtered->failed.at("b"), "why");
  const auto nodes = filter_answer(R"({"nodes":{"Items":[{"Metadata":{"Name":"a"}}]}})", false);
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->passed, std::vector<std::string>{"a"});
  const auto scores = prioritize_answer(R"([{"host":"a","score":7},null,{"HOST":"b"}])");
  ASSERT_TRUE(scores.ok());
  ASSERT_EQ(scores->size(), 2U);
  EXPECT_EQ((*scores)[0].score, 7);
  EXPECT_FALSE(bind_answer(R"({"error":"no"})").ok());
  const auto victims = preempt_answer(R"({"nodeNameToMetaVictims":{"n":{"pods":[{"uid":"u"}],"numPDBViolations":3}}})");
  ASSERT_TRUE(victims.ok());
  EXPECT_EQ((*victims)[0].second.uids, std::vector<std::string>{"u"});
  EXPECT_EQ((*victims)[0].second.violations, 3);
}

TEST(ExtenderMessages, NullIsNothing) {
  EXPECT_TRUE(filter_answer("null", true)->passed.empty());
  EXPECT_TRUE(filter_answer(R"({"NodeNames":null,"FailedNodes":null,"Error":null})", true)->passed.empty());
  EXPECT_TRUE(prioritize_answer("null")->empty());
  EXPECT_TRUE(bind_answer("null").ok());
  EXPECT_TRUE(preempt_answer("{}")->empty());
  EXPECT_TRUE((*preempt_answer(R"({"NodeNameToMetaVictims":{"n":null}})"))[0].second.uids.empty());
}

TEST(ExtenderMessages, NumbersAreWholeAsInGo) {
  for (const char* score : {"7.0", "7e0", "\"7\"", "99999999999999999999"})
    EXPECT_FALSE(prioritize_answer(std::string(R"([{"Host":"a","Score":)") + score + "}]").ok()) << score;
  EXPECT_EQ((*prioritize_answer(R"([{"Host":"a","Score":-9223372036854775808}])"))[0].score, INT64_MIN);
}

}  // namespace
}  // namespace berth::extender
