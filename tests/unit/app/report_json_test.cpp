// SPDX-License-Identifier: Apache-2.0
#include "report/report_json.hpp"

#include <gtest/gtest.h>

#include "text/parse.hpp"
#include "unit/app/reports.hpp"

namespace berth::app {
namespace {

report::SimulationReport example() {
  report::PodLine gated = pod_line("quo\"ted\n", report::PodState::gated);
  gated.message = "waiting: [a: b]";
  report::PodLine web = placed("web-1", "a-1");
  web.top_scores = {{"a-1", 520}};
  return report_of({web, gated}, {node_line("a-1", 4000, 8000)});
}

const text::Value& at(const text::Document& document, std::string_view path) {
  const text::Value* value = document.root().find_path(path);
  EXPECT_NE(value, nullptr) << path;
  static const text::Value k_null;
  return value == nullptr ? k_null : *value;
}

TEST(JsonReport, GivesNothingToATerminalThatChangesHowItShowsTheRest) {
  report::PodLine pod = placed(
      "a\xc2\x9b"
      "31m\u202egnp\u2066",
      "a-1");
  const report::SimulationReport report = report_of({pod}, {node_line("a-1", 4000, 8000)});
  const std::string json = report::render_json(report);
  for (const std::string& text : {json, report::render_yaml(report)}) {
    for (const char* raw : {"\xc2\x9b", "\u202e", "\u2066"}) EXPECT_EQ(text.find(raw), std::string::npos) << text;
    text::Diagnostics wrong;
    const auto documents = text::parse(text, "report", wrong);
    ASSERT_TRUE(wrong.empty()) << wrong.render() << text;
    EXPECT_EQ(at(documents.front(), "pods").elements()[0].find("name")->text(), pod.name);
  }
}

/// The fields that programs rely on.
void expect_example(const text::Document& document) {
  EXPECT_EQ(at(document, "totals.placed").integer(), 1);
  EXPECT_EQ(at(document, "totals.gated").integer(), 1);
  EXPECT_EQ(at(document, "totals.pending").integer(), 0);
  EXPECT_EQ(at(document, "totals.nodes").integer(), 1);
  const auto pods = at(document, "pods").elements();
  ASSERT_EQ(pods.size(), 2u);
  std::string names;
  for (const text::Member& member : pods[0].members()) names += std::string(member.key) + " ";
  EXPECT_EQ(names, "namespace name state node schedulerName priority attempts evaluatedNodes feasibleNodes bestNodes ");
  EXPECT_EQ(pods[0].find("node")->text(), "a-1");
  EXPECT_EQ(pods[0].find("bestNodes")->elements()[0].find("total")->integer(), 520);
  EXPECT_TRUE(pods[1].find("node")->is_null());
  EXPECT_EQ(pods[1].find("name")->text(), "quo\"ted\n");
  EXPECT_EQ(pods[1].find("message")->text(), "waiting: [a: b]");
  const auto nodes = at(document, "nodes").elements();
  ASSERT_EQ(nodes.size(), 1u);
  const auto resources = nodes[0].find("resources")->elements();
  ASSERT_EQ(resources.size(), 4u);
  EXPECT_EQ(resources[0].find("name")->text(), "cpu");
  EXPECT_EQ(resources[0].find("unit")->text(), "milli");
  EXPECT_EQ(resources[0].find("requested")->integer(), 4000);
  EXPECT_EQ(at(document, "resources").elements()[2].find("allocatable")->integer(), 110);
}

TEST(JsonReport, HoldsEverythingUnderStableNames) {
  text::Diagnostics problems;
  const auto documents = text::parse_json(report::render_json(example()), "json", problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  ASSERT_EQ(documents.size(), 1u);
  expect_example(documents[0]);
}

TEST(YamlReport, ReadsBackAsTheSame) {
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(report::render_yaml(example()), "yaml", problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  ASSERT_EQ(documents.size(), 1u);
  expect_example(documents[0]);
}

}  // namespace
}  // namespace berth::app
