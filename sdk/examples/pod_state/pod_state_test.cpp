// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/json.hpp>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/module.hpp>

#include <fstream>
#include <iterator>

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;

berth::Json rows() {
  std::ifstream in(ROWS_FILE);
  return berth::Json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
}

/// Nodes "n0", "n1", … and pods on them.
struct Nodes {
  explicit Nodes(std::size_t count) : specs(count) {
    for (std::size_t i = 0; i < count; ++i) specs[i].name = "n" + std::to_string(i);
  }
  /// Pods of the cluster are told apart by name.
  void put(berth_slot node, std::int64_t count, std::uint32_t flags = 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      last = "p" + std::to_string(made++);
      pods.put(node, {.name = last, .node_name = specs[node].name}, flags);
    }
  }
  void nominate(berth_slot node, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      pods.nominate(node, {.name = "p" + std::to_string(made++), .nominated_node = specs[node].name});
  }
  Scores scores() { return Attempt(policy, {}, FakeCluster::of(policy).nodes = specs).normalized(); }

  std::vector<NodeSpec> specs;
  Policy policy{tested_library(), "", FakeCluster::install};
  FakePods& pods = FakePods::of(policy);
  std::string last;
  int made = 0;
};

TEST(PodState, ScoresAsTheRowsOfUpstreamSay) {
  int judged = 0;
  const berth::Json all = rows();
  for (const berth::Json& row : all["rows"].array("rows")) {
    SCOPED_TRACE(row["name"].string("name"));
    const auto& nodes = row["nodes"].items();
    Nodes cluster(nodes.size());
    Scores expected;
    for (berth_slot slot = 0; slot < nodes.size(); ++slot) {
      cluster.put(slot, nodes[slot]["terminating"].integer("terminating"), BERTH_PLACED_TERMINATING);
      cluster.nominate(slot, nodes[slot]["nominated"].integer("nominated"));
      cluster.put(slot, nodes[slot]["regular"].integer("regular"));
      expected.push_back(nodes[slot]["score"].integer("score"));
    }
    EXPECT_EQ(cluster.scores(), expected);
    ++judged;
  }
  EXPECT_EQ(judged, 5);
}

TEST(PodState, FollowsPodsThatBeginToLeaveAndAreGone) {
  Nodes cluster(2);
  cluster.put(0, 9);
  cluster.put(1, 9);
  EXPECT_EQ(cluster.scores(), (Scores{0, 0}));
  const std::string leaving = cluster.last;
  cluster.pods.put(1, {.name = leaving, .node_name = "n1"}, BERTH_PLACED_TERMINATING);
  EXPECT_EQ(cluster.scores(), (Scores{0, 100}));
  cluster.pods.take(leaving);
  EXPECT_EQ(cluster.scores(), (Scores{0, 0}));
  EXPECT_EQ(cluster.pods.visits_of_all, 1);
}

TEST(PodState, CountsAgainWhatTheHostDoesNotRemember) {
  Nodes cluster(2);
  cluster.put(0, 1, BERTH_PLACED_TERMINATING);
  EXPECT_EQ(cluster.scores(), (Scores{100, 0}));
  cluster.put(1, 2, BERTH_PLACED_TERMINATING);
  cluster.pods.forget_changes();
  EXPECT_EQ(cluster.scores(), (Scores{0, 100}));
}

TEST(PodState, ForgetsNominationsOfEarlierAttempts) {
  Nodes cluster(2);
  cluster.nominate(0, 1);
  EXPECT_EQ(cluster.scores(), (Scores{0, 100}));
  cluster.pods.clear_nominations();
  EXPECT_EQ(cluster.scores(), (Scores{0, 0}));
}

}  // namespace
