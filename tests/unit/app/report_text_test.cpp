// SPDX-License-Identifier: Apache-2.0
#include "report/report_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/app/reports.hpp"

namespace berth::app {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(AmountText, UsesTheUnitsOfManifests) {
  EXPECT_EQ(report::amount_text(8000, report::AmountUnit::milli_cores), "8");
  EXPECT_EQ(report::amount_text(250, report::AmountUnit::milli_cores), "0.25");
  EXPECT_EQ(report::amount_text(0, report::AmountUnit::bytes), "0");
  EXPECT_EQ(report::amount_text(std::int64_t{3} << 29, report::AmountUnit::bytes), "1.5Gi");
  EXPECT_EQ(report::amount_text(-(std::int64_t{2} << 30), report::AmountUnit::bytes), "-2Gi");
  EXPECT_EQ(report::amount_text(110, report::AmountUnit::count), "110");
}

TEST(UsageBar, FillsInEighthsAndStopsAtFull) {
  EXPECT_EQ(report::usage_bar({0, 8}, 4), "░░░░");
  EXPECT_EQ(report::usage_bar({4, 8}, 4), "██░░");
  EXPECT_EQ(report::usage_bar({5, 8}, 4), "██▌░");
  EXPECT_EQ(report::usage_bar({8, 8}, 4), "████");
  EXPECT_EQ(report::usage_bar({12, 8}, 4), "████");
  EXPECT_EQ(report::usage_bar({0, 0}, 4), "░░░░");
  EXPECT_EQ(report::usage_bar({1, 0}, 4), "████");
}

TEST(Percent, RoundsDownSoThat100MeansFull) {
  EXPECT_EQ(report::percent({999, 1000}), 99);
  EXPECT_EQ(report::percent({1000, 1000}), 100);
  EXPECT_EQ(report::percent({1500, 1000}), 150);
  EXPECT_EQ(report::percent({0, 0}), 0);
}

TEST(TableReport, GivesNoControlCharacterOfANameToTheTerminal) {
  report::PodLine moved = placed("web\x1b[2J\nshop  forged  a-1", "a\r1");
  moved.top_scores = {{"a\r1", 7}};
  report::PodLine stuck = pending("big\x07", "no\nroom");
  stuck.nominated_node =
      "\xc2\x9b"
      "31m";
  report::PodLine foreign = pod_line("render\x9b", report::PodState::foreign);
  foreign.scheduler_name = "night\x1b]0;x";
  report::SimulationReport report =
      report_of({moved, stuck, foreign}, {node_line("a\x1b[31m", 4000, 8000), node_line("b\x7f", 0, 8000)});
  report.nodes[0].zone = "zone\x1b";
  report.resources.push_back({"example.com/\x1b[8m", report::AmountUnit::count});
  for (report::NodeLine& node : report.nodes) node.usage.push_back({1, 2});
  report.evictions.push_back({"shop/old\x1b", "a\x1b", "shop/new\x1b", 0});
  for (const bool wide : {false, true}) {
    report::TableStyle style;
    style.wide = wide;
    const std::string text = report::render_table(report, style);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      EXPECT_TRUE(byte == '\n' || (byte >= 0x20 && byte != 0x7f)) << text;
    }
    EXPECT_FALSE(contains(text, "\xc2\x9b")) << text;
    EXPECT_TRUE(contains(text, "web\\x1b[2J\\x0ashop  forged  a-1")) << text;
    EXPECT_TRUE(contains(text, "a\\x1b[31m")) << text;
  }
}

TEST(TableReport, ShowsWhatAnOperatorLooksFor) {
  report::PodLine gated = pod_line("import", report::PodState::gated);
  gated.message = "waiting for scheduling gates: [quota]";
  report::PodLine foreign = pod_line("render", report::PodState::foreign);
  foreign.scheduler_name = "night-scheduler";
  report::PodLine deleting = pod_line("old-web", report::PodState::deleting);
  deleting.node = "a-1";
  const report::SimulationReport report =
      report_of({placed("web-1", "a-1"), pending("big", "0/2 nodes are available: 2 Insufficient cpu."), gated, foreign,
                 deleting, pod_line("report", report::PodState::finished), pod_line("dns", report::PodState::running)},
                {node_line("a-1", 4000, 8000), node_line("b-1", 0, 8000)});
  EXPECT_EQ(report::render_table(report, {}),
            "2 nodes, 7 pods: 1 placed, 1 pending, 1 gated, 1 of other schedulers, 1 being deleted, 1 finished, "
            "1 placed before\n"
            "\nPLACED (1)\n"
            "  NAMESPACE  POD    NODE  ATTEMPTS\n"
            "  shop       web-1  a-1          1\n"
            "\nPENDING (1)\n"
            "  NAMESPACE  POD  ATTEMPTS  WHY\n"
            "  shop       big         2  0/2 nodes are available: 2 Insufficient cpu.\n"
            "\nGATED (1)\n"
            "  NAMESPACE  POD     GATE\n"
            "  shop       import  waiting for scheduling gates: [quota]\n"
            "\nOF OTHER SCHEDULERS (1)\n"
            "  NAMESPACE  POD     SCHEDULER\n"
            "  shop       render  night-scheduler\n"
            "\nBEING DELETED (1)\n"
            "  NAMESPACE  POD      NODE\n"
            "  shop       old-web  a-1\n"
            "\nFINISHED (1)\n"
            "  NAMESPACE  POD     NODE\n"
            "  shop       report  -\n"
            "\nNODES (2)\n"
            "  NODE  CPU                   MEMORY                     PODS\n"
            "  a-1   █████░░░░░  50% 4/8   ██▌░░░░░░░  25% 8Gi/32Gi   ░░░░░░░░░░   0% 1/110\n"
            "  b-1   ░░░░░░░░░░   0% 0/8   ██▌░░░░░░░  25% 8Gi/32Gi   ░░░░░░░░░░   0% 1/110\n"
            "  all   ██▌░░░░░░░  25% 4/16  ██▌░░░░░░░  25% 16Gi/64Gi  ░░░░░░░░░░   0% 2/220\n");
}

TEST(TableReport, WideAddsColumnsAndExtendedResourcesAlwaysShow) {
  report::PodLine web = placed("web-1", "a-1");
  web.priority = 1000;
  web.top_scores = {{"a-1", 520}, {"b-1", 498}};
  report::PodLine big = pending("big", "0/1 nodes are available: 1 Insufficient cpu.");
  big.nominated_node = "b-1";
  report::SimulationReport report = report_of({web, big}, {node_line("a-1", 4000, 8000)});
  report.resources.push_back({"example.com/gpu", report::AmountUnit::count});
  report.nodes[0].usage.push_back({1, 4});
  const std::string narrow = report::render_table(report, {});
  EXPECT_FALSE(contains(narrow, "EPHEMERAL-STORAGE")) << narrow;
  EXPECT_TRUE(contains(narrow, "example.com/gpu")) << narrow;
  EXPECT_TRUE(contains(narrow, "25% 1/4")) << narrow;
  report::TableStyle style;
  style.wide = true;
  const std::string wide = report::render_table(report, style);
  for (const char* part :
       {"EPHEMERAL-STORAGE", "zone-a", "1000", "EVALUATED", "FEASIBLE", "a-1=520 b-1=498", "NOMINATED"})
    EXPECT_TRUE(contains(wide, part)) << part << "\n" << wide;
}

TEST(TableReport, SummarisesLargeClusters) {
  std::vector<report::PodLine> pods;
  std::vector<report::NodeLine> nodes;
  for (int i = 0; i < 5000; ++i) nodes.push_back(node_line("n" + std::to_string(i), i, 5000));
  for (int i = 0; i < 300; ++i) pods.push_back(pending("p" + std::to_string(i), i % 3 == 0 ? "rare." : "frequent."));
  const report::SimulationReport report = report_of(pods, nodes);
  const std::string text = report::render_table(report, {});
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 100) << text;
  EXPECT_TRUE(contains(text, "… 260 more pods; -o wide shows all")) << text;
  EXPECT_TRUE(contains(text, "   200  frequent.\n")) << text;
  EXPECT_TRUE(contains(text, "   100  rare.\n")) << text;
  EXPECT_TRUE(contains(text, "\n  n4999 ")) << "the fullest nodes come first\n" << text;
  EXPECT_FALSE(contains(text, "\n  n0 ")) << text;
  EXPECT_TRUE(contains(text, "… 4975 more nodes, less used; -o wide shows all")) << text;
  EXPECT_TRUE(contains(text, "  cpu     1250  1250  1250   750    500     0\n")) << text;
  report::TableStyle style;
  style.wide = true;
  const std::string wide = report::render_table(report, style);
  EXPECT_TRUE(contains(wide, "\n  n0 ") && contains(wide, " p299 "));
  EXPECT_FALSE(contains(wide, "more"));
}

TEST(TableReport, HasNoEscapeSequencesUnlessForATerminal) {
  const report::SimulationReport report = report_of({pending("p", "why.")}, {node_line("a", 1, 2)});
  EXPECT_FALSE(contains(report::render_table(report, {}), "\033"));
  report::TableStyle style;
  style.colour = true;
  EXPECT_TRUE(contains(report::render_table(report, style), "\033[1mPENDING (1)\033[0m"));
}

TEST(TableReport, OfAnEmptyClusterIsOneLine) {
  EXPECT_EQ(report::render_table(report_of({}, {}), {}), "0 nodes, 0 pods: 0 placed, 0 pending\n");
}

}  // namespace
}  // namespace berth::app
