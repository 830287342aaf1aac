// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "decoding.hpp"
#include "model/event_diff.hpp"

namespace berth::decode {
namespace {

TEST(NodeDecoder, ReadsWhatSchedulingLooksAt) {
  Decoding in;
  const auto node =
      in.node(R"({"metadata":{"name":"n","uid":"u","resourceVersion":"9","labels":{"zone":"a"},"annotations":{"x":"y"}},
      "spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"},{"key":"k","value":"v","effect":"Weird"}]},
      "status":{"capacity":{"cpu":"8","pods":"250","foo":"1"},"allocatable":{"cpu":"3900500u","memory":"1Gi","pods":"110","example.com/gpu":2,"foo":"1"},
      "images":[{"names":["a:1","b"],"sizeBytes":100},{"sizeBytes":5}],"conditions":[{"type":"Ready","status":"True","reason":"r"}],
      "declaredFeatures":["B","A"]}})");
  EXPECT_EQ(node->name, "n");
  EXPECT_EQ(node->name_symbol, in("n"));
  EXPECT_EQ(node->uid, "u");
  EXPECT_EQ(node->resource_version, "9");
  EXPECT_TRUE(node->has_labels);
  EXPECT_EQ(node->labels, (model::Labels{{in("zone"), in("a")}}));
  EXPECT_EQ(node->annotations, (model::Labels{{in("x"), in("y")}}));
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->taints, (std::vector<model::Taint>{{in("k"), k_empty_symbol, model::TaintEffect::no_schedule},
                                                     {in("k"), in("v"), model::TaintEffect::other}}));
  EXPECT_EQ(node->allocatable, (std::vector<model::ResourceAmount>{
                                   {in("cpu"), 3901}, {in("memory"), 1 << 30}, {in("example.com/gpu"), 2}}));
  EXPECT_EQ(node->allowed_pods, 110);
  EXPECT_TRUE(node->lists_pods);
  EXPECT_EQ(node->capacity, (std::vector<model::ResourceAmount>{{in("cpu"), 8000}, {in("pods"), 250}}));
  EXPECT_EQ(node->images, (std::vector<model::NodeImage>{{{in("a:1"), in("b")}, 100}, {{}, 5}}));
  EXPECT_EQ(node->conditions, (std::vector<model::NodeCondition>{{in("Ready"), in("True")}}));
  EXPECT_EQ(node->declared_features, (std::vector<Symbol>{in("B"), in("A")}));
}

TEST(NodeDecoder, TakesNothingFromCapacity) {
  Decoding in;
  in.options.defaulting = std::make_shared<Defaulting>();
  const auto node = in.node("{metadata: {name: n}, status: {capacity: {cpu: 4}}}");
  EXPECT_TRUE(node->allocatable.empty());
  EXPECT_FALSE(node->lists_pods);
  EXPECT_FALSE(node->has_labels);
  EXPECT_EQ(node->uid, Defaulting::make_uid("Node", "", "n"));
}

TEST(NodeDecoder, KeepsOnlyTheAnnotationsThatAreRead) {
  Decoding in;
  in.options.node_annotations = std::vector<std::string>{"example.com/read"};
  const auto node =
      in.node(R"({"metadata":{"name":"n","annotations":{"example.com/read":"1","example.com/report":"r1"}}})");
  EXPECT_EQ(node->annotations, (model::Labels{{in("example.com/read"), in("1")}}));
  EXPECT_EQ(in.symbols.find("example.com/report"), k_no_symbol);
  EXPECT_EQ(in.symbols.find("r1"), k_no_symbol);
  const auto same =
      in.node(R"({"metadata":{"name":"n","annotations":{"example.com/report":"r1","example.com/read":"1"}}})");
  const auto other =
      in.node(R"({"metadata":{"name":"n","annotations":{"example.com/read":"1","example.com/report":"r2"}}})");
  EXPECT_TRUE(model::node_update_events(*node, *same).empty());
  EXPECT_EQ(model::node_update_events(*node, *other).size(), 1u) << "a change is an event all the same";
}

TEST(NodeDecoder, ReportsANodeWithoutAName) {
  Decoding in;
  EXPECT_FALSE(in.object("{apiVersion: v1, kind: Node, metadata: {}, status: {allocatable: {cpu: x}}}"));
  EXPECT_EQ(in.problems.size(), 2u) << in.problems.render();
}

}  // namespace
}  // namespace berth::decode
