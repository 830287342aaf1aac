// SPDX-License-Identifier: Apache-2.0
#include "cycle/diagnosis.hpp"

#include "base/bitmap.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::cycle {
namespace {

using framework::Code;

TEST(DiagnosisMessage, SortsItsEntriesByteByByte) {
  Diagnosis d;
  d.node_count = d.explicit_count = 12;
  d.reasons = {{"x", 10}, {"y", 2}};
  EXPECT_EQ(d.message(), "0/12 nodes are available: 10 x, 2 y.");
}

TEST(DiagnosisMessage, LeavesNodesWithoutAVerdictUnmentionedByDefault) {
  Diagnosis d;
  d.node_count = 5;
  d.explicit_count = 2;
  d.reasons = {{"Insufficient cpu", 2}};
  EXPECT_EQ(d.message(), "0/5 nodes are available: 2 Insufficient cpu.");
}

TEST(DiagnosisMessage, CountsTheReasonsOfNodesWithoutAVerdict) {
  Diagnosis d;
  d.node_count = 4;
  d.explicit_count = 1;
  d.reasons = {{"Insufficient memory", 1}};
  d.absent_reasons = {"node(s) didn't satisfy plugin(s) [NodeAffinity]"};
  EXPECT_EQ(d.message(),
            "0/4 nodes are available: 1 Insufficient memory, 3 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST(DiagnosisMessage, AddsAbsentNodesToTheSameReason) {
  Diagnosis d;
  d.node_count = 4;
  d.explicit_count = 1;
  d.reasons = {{"too small", 1}};
  d.absent_reasons = {"too small"};
  EXPECT_EQ(d.message(), "0/4 nodes are available: 4 too small.");
}

TEST(DiagnosisMessage, IsThePreFiltersWhenItRejectedThePod) {
  Diagnosis d;
  d.node_count = 3;
  d.absent_reasons = {"unused"};
  d.pre_filter_message = "waiting for a claim";
  EXPECT_EQ(d.message(), "0/3 nodes are available: waiting for a claim.");
}

TEST(DiagnosisMessage, EndsAtTheColonWithoutReasons) {
  Diagnosis d;
  EXPECT_EQ(d.message(), "0/0 nodes are available:");
  d.node_count = 7;
  EXPECT_EQ(d.message(), "0/7 nodes are available:");
}

struct DiagnosisFixture : framework::testing::FrameworkFixture {
  DiagnosisFixture() {
    auto &fit = make_plugin("Fit"), &taints = make_plugin("Taints");
    fit.reasons = {"Insufficient cpu", "Too many pods"};
    taints.reasons = {"node(s) had untolerated taint(s)"};
    first = &add(fit);
    second = &add(taints);
    d.node_count = 5;
    d.unschedulable.resize(1);
    d.unresolvable.resize(1);
  }
  const framework::PluginInstance *first = nullptr, *second = nullptr;
  Diagnosis d;
};

TEST(Diagnosis, CountsVerdictsPerReason) {
  DiagnosisFixture f;
  f.d.add(0, {Code::unschedulable, f.first, 1});
  f.d.add(1, {Code::unschedulable, f.first, f.reasons.make({"Too many pods", "Insufficient cpu"})});
  for (const cache::Slot slot : {2u, 3u, 4u}) f.d.add(slot, {Code::unresolvable, f.second, 1});
  EXPECT_EQ(f.d.message(),
            "0/5 nodes are available: 1 Too many pods, 2 Insufficient cpu, 3 node(s) had untolerated taint(s).");
  EXPECT_EQ(f.d.unschedulable[0], 0b00011u);
  EXPECT_EQ(f.d.unresolvable[0], 0b11100u);
  EXPECT_TRUE(f.d.unschedulable_plugins.contains(f.first->index()));
  EXPECT_TRUE(f.d.unschedulable_plugins.contains(f.second->index()));
  EXPECT_TRUE(f.d.pending_plugins.empty());
}

TEST(Diagnosis, KeepsPendingPluginsApart) {
  DiagnosisFixture f;
  f.d.add(0, {Code::pending, f.first, 1});
  EXPECT_TRUE(f.d.pending_plugins.contains(f.first->index()));
  EXPECT_TRUE(f.d.unschedulable_plugins.contains(f.first->index()));
  EXPECT_FALSE(bitmap::test(f.d.unschedulable.data(), 0)) << "it waits for something that no eviction brings";
}

TEST(Diagnosis, CountsANodeWhoseVerdictHasNoReason) {
  DiagnosisFixture f;
  f.d.add(0, {Code::unschedulable, f.first, 0});
  EXPECT_EQ(f.d.explicit_count, 1u);
  EXPECT_EQ(f.d.message(), "0/5 nodes are available:");
}

TEST(Diagnosis, CountsVerdictsOfNodesThatItHasNoBitFor) {
  DiagnosisFixture f;
  f.d.unschedulable.clear();
  f.d.add(100, {Code::unschedulable, f.first, 1});
  EXPECT_EQ(f.d.message(), "0/5 nodes are available: 1 Insufficient cpu.");
}

TEST(Diagnosis, TakesFurtherReasonsOfTheSameNodeIn) {
  DiagnosisFixture f;
  f.d.node_count = 2;
  f.d.add(0, {Code::unschedulable, f.first, 1});
  f.d.add(1, {Code::unschedulable, f.first, 1});
  f.d.add_further(1, {Code::unresolvable, f.second, 1});
  EXPECT_EQ(f.d.message(), "0/2 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.");
  EXPECT_EQ(f.d.explicit_count, 2u);
  EXPECT_EQ(f.d.unschedulable[0], 0b01u);
  EXPECT_EQ(f.d.unresolvable[0], 0b10u) << "no eviction helps against one of its reasons";
}

}  // namespace
}  // namespace berth::cycle
