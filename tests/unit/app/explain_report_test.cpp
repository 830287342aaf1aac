// SPDX-License-Identifier: Apache-2.0
#include "report/explain_report.hpp"

#include <gtest/gtest.h>

#include "text/parse.hpp"
#include "unit/app/reports.hpp"

namespace berth::app {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

cycle::NodeExplanation rejected(std::string node, std::string plugin, std::vector<std::string> reasons) {
  return {std::move(node), framework::Code::unschedulable, std::move(plugin), std::move(reasons)};
}
cycle::NodeExplanation scored(std::string node, std::int64_t fit, std::int64_t taints) {
  return {std::move(node), framework::Code::success, "", {}, fit + taints, {fit, taints}};
}

report::Decision decision(const report::PodLine& line, std::vector<cycle::NodeExplanation> nodes) {
  auto pod = std::make_shared<model::Pod>();
  pod->ns = line.ns;
  pod->name = line.name;
  report::Decision out;
  out.pod = pod;
  out.node = line.node;
  out.message = line.message;
  out.explanation = std::make_unique<cycle::Explanation>();
  out.explanation->nodes = std::move(nodes);
  out.explanation->scorers = {"Fit", "Taints"};
  return out;
}

std::string explain(const std::vector<report::PodLine>& pods, const std::vector<report::Decision>& decisions,
                    std::string_view pod, const report::ExplainStyle& style = {}) {
  const auto text = report::render_explanation(report_of(pods, {}), decisions, pod, style);
  return text.ok() ? text.value() : "error: " + text.error().message;
}

TEST(Explanation, GivesNoControlCharacterOfANameToTheTerminal) {
  const report::PodLine lost = pending("big\x1b[2J", "0/1 nodes\n are available\x1b");
  const report::PodLine won = placed("web", "n\r1\x1b[8m");
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(lost, {rejected("a\x1b", "Fit\x1b", {"Insufficient\x1b cpu\n"})}));
  decisions.push_back(decision(won, {scored("n\r1\x1b[8m", 1, 2)}));
  for (const char* const pod : {"shop/big\x1b[2J", "shop/web", "big\x1b[2J", "shop/absent\x1b"}) {
    const std::string text = explain({lost, won}, decisions, pod);
    if (text.rfind("error", 0) == 0) continue;  // said by the command
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
  }
  EXPECT_TRUE(has(explain({lost, won}, decisions, "shop/web"), "placed on n\\x0d1\\x1b[8m"));
  EXPECT_TRUE(has(explain({lost, won}, decisions, "shop/big\x1b[2J"), "0/1 nodes\\x0a are available\\x1b"));
}

TEST(Explanation, GroupsRejectionsThenNamesEveryNode) {
  const report::PodLine pod = pending("big", "0/3 nodes are available: …");
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(pod, {rejected("a", "Fit", {"Insufficient cpu", "Insufficient memory"}),
                                     rejected("b", "Taints", {"node(s) had untolerated taint(s)"}),
                                     rejected("c", "Fit", {"Insufficient cpu"})}));
  decisions[0].explanation->nodes[1].code = framework::Code::unresolvable;
  EXPECT_EQ(explain({pod}, decisions, "shop/big"),
            "shop/big: pending after 2 attempts: 0/3 nodes are available: …\n"
            "\nREJECTED BY (3 of 3 nodes)\n"
            "  NODES  PLUGIN  REASON\n"
            "      2  Fit     Insufficient cpu\n"
            "      1  Fit     Insufficient memory\n"
            "      1  Taints  node(s) had untolerated taint(s)\n"
            "\n"
            "  NODE  PLUGIN  REASON\n"
            "  a     Fit     Insufficient cpu, Insufficient memory\n"
            "  b     Taints  node(s) had untolerated taint(s) (evicting pods would not help)\n"
            "  c     Fit     Insufficient cpu\n");
}

TEST(Explanation, ShowsPointsByPluginTheChosenNodeAndTheTie) {
  const report::PodLine pod = placed("web", "b");
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(pod, {scored("a", 60, 300), scored("b", 99, 300), scored("c", 99, 300)}));
  EXPECT_EQ(explain({pod}, decisions, "shop/web"),
            "shop/web: placed on b, attempt 1: 9 nodes evaluated, 4 feasible\n"
            "\nFEASIBLE (3 of 3), points after weighting\n"
            "     NODE  TOTAL  Fit  Taints\n"
            "  →  b       399   99     300\n"
            "     c       399   99     300\n"
            "     a       360   60     300\n"
            "  2 nodes share the best total 399; where the search began and kube-scheduler's order of ties chose b\n");
}

TEST(Explanation, SaysWhenPointsDidNotDecide) {
  const report::PodLine pod = placed("web", "a");
  std::vector<report::Decision> one, lower;
  one.push_back(decision(pod, {scored("a", 1, 2), rejected("b", "Fit", {"Insufficient cpu"})}));
  EXPECT_TRUE(has(explain({pod}, one, "shop/web"), "a was the only feasible node"));
  lower.push_back(decision(pod, {scored("a", 1, 2), scored("b", 50, 2)}));
  EXPECT_TRUE(has(explain({pod}, lower, "shop/web"), "a was chosen below the best total"));
}

TEST(Explanation, KeepsTheChosenNodeAmongThousands) {
  const report::PodLine pod = placed("web", "chosen");
  std::vector<cycle::NodeExplanation> nodes;
  for (int i = 0; i < 5000; ++i) nodes.push_back(scored("n" + std::to_string(i), 100, 1));
  nodes.push_back(scored("chosen", 1, 1));
  for (int i = 0; i < 5000; ++i) nodes.push_back(rejected("r" + std::to_string(i), "Fit", {"Insufficient cpu"}));
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(pod, std::move(nodes)));
  const std::string text = explain({pod}, decisions, "shop/web");
  EXPECT_TRUE(has(text, "→  chosen")) << text;
  EXPECT_TRUE(has(text, "… 4950 more nodes")) << text;
  EXPECT_TRUE(has(text, "5000  Fit     Insufficient cpu")) << text;
  EXPECT_LT(text.size(), 20000u);
  report::ExplainStyle wide;
  wide.wide = true;
  EXPECT_TRUE(has(explain({pod}, decisions, "shop/web", wide), "r4999"));
}

TEST(Explanation, SaysWhenNoNodeWasLookedAt) {
  const report::PodLine pod = pending("lost", "0/2 nodes are available: no.");
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(pod, {}));
  decisions[0].explanation->pod_rejection = rejected("*", "NodeAffinity", {"pod affinity terms conflict"});
  EXPECT_TRUE(has(explain({pod}, decisions, "shop/lost"),
                  "Rejected before any node was considered, by NodeAffinity: pod affinity terms conflict"));
}

TEST(Explanation, ListsAttemptsAndExplainsTheLast) {
  const report::PodLine pod = placed("web", "b");
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(pending("web", "0/1 nodes are available: 1 Insufficient cpu."),
                               {rejected("a", "Fit", {"Insufficient cpu"})}));
  decisions.push_back(decision(pod, {scored("b", 1, 1)}));
  const std::string text = explain({pod}, decisions, "shop/web");
  EXPECT_TRUE(has(text, "        1  0/1 nodes are available: 1 Insufficient cpu.\n")) << text;
  EXPECT_TRUE(has(text, "        2  placed on b\n")) << text;
  EXPECT_FALSE(has(text, "REJECTED")) << text;
}

TEST(Explanation, TellsWhyAPodWasNeverTried) {
  report::PodLine foreign = pod_line("render", report::PodState::foreign);
  foreign.scheduler_name = "night-scheduler";
  report::PodLine gated = pod_line("import", report::PodState::gated);
  gated.message = "waiting for scheduling gates: [quota]";
  const std::vector<report::PodLine> pods{foreign, gated, pod_line("gone", report::PodState::deleting)};
  EXPECT_EQ(explain(pods, {}, "shop/render"),
            "shop/render: not tried: its scheduler is \"night-scheduler\", and no profile has that name\n");
  EXPECT_EQ(explain(pods, {}, "shop/import"),
            "shop/import: gated, never tried: waiting for scheduling gates: [quota]\n");
  EXPECT_EQ(explain(pods, {}, "shop/gone"), "shop/gone: not tried: it is being deleted\n");
}

TEST(Explanation, OfAPodThatIsNotThereSaysWhatIs) {
  const std::vector<report::PodLine> pods{pod_line("web", report::PodState::placed)};
  EXPECT_EQ(explain(pods, {}, "other/web"),
            "error: there is no pod other/web in the cluster; of that name there is shop/web");
  EXPECT_EQ(explain(pods, {}, "web"), "error: \"web\" does not name a pod: write NAMESPACE/NAME, here shop/web");
  EXPECT_EQ(explain(pods, {}, "shop/x"), "error: there is no pod shop/x in the cluster");
}

TEST(ExplanationJson, HoldsAttemptsRejectionsAndScores) {
  const report::PodLine pod = placed("web", "b");
  std::vector<report::Decision> decisions;
  decisions.push_back(decision(pod, {rejected("a", "Fit", {"Insufficient cpu"}), scored("b", 1, 300)}));
  const auto json = report::render_explanation_json(report_of({pod}, {}), decisions, "shop/web");
  ASSERT_TRUE(json.ok());
  text::Diagnostics problems;
  const auto documents = text::parse_json(json.value(), "json", problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  const text::Value& root = documents[0].root();
  EXPECT_EQ(root.find("node")->text(), "b");
  EXPECT_EQ(root.find("attempts")->elements().size(), 1u);
  EXPECT_EQ(root.find_path("rejected.a.plugin")->text(), "Fit");
  EXPECT_EQ(root.find_path("rejected.a.reasons")->elements()[0].text(), "Insufficient cpu");
  EXPECT_EQ(root.find_path("scores.b.plugins.Taints")->integer(), 300);
  EXPECT_EQ(root.find_path("scores.b.total")->integer(), 301);
}

}  // namespace
}  // namespace berth::app
