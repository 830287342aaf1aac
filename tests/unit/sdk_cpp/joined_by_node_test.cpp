// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/objects/joined_by_node.hpp>
#include <berth/plugin.hpp>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/policy.hpp>

namespace {

using berth::testkit::Attempt;
using berth::testkit::FakeCluster;
using berth::testkit::NodeSpec;
using berth::testkit::Policy;

constexpr const char* k_loads = "example.com/v1/nodeloads";

/// Lets pods on nodes whose load is below 50.
class LowLoad {
 public:
  static constexpr berth::Identity identity{.name = "example.com/LowLoad",
                                            .version = "1.0.0",
                                            .summary = "Avoids busy nodes.",
                                            .deps = BERTH_DEP_OBJECTS | BERTH_DEP_ANNOUNCED};
  static constexpr berth::ReasonText reasons[] = {{"busy", "Busy"}, {"no load is known", "NoLoad"}};

  struct Load {
    std::int64_t percent;
  };
  explicit LowLoad(berth::Setup& setup)
      : loads_(setup, k_loads, k_fields, [](const berth_object_v1& object) -> std::shared_ptr<const Load> {
          if (object.values[0].present == 0) throw berth::Failure("a load without a number");
          return std::make_shared<Load>(Load{object.values[0].number});
        }) {}

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<>&) {
    loads_.follow(cycle);
    return berth::Verdict::ok();
  }
  std::optional<berth::Rejection> filter_each(const berth::Cycle&, berth::Row node) const {
    const Load* const load = loads_.at(node.slot());
    if (load == nullptr) return berth::unresolvable(2);
    return load->percent < 50 ? std::nullopt : std::optional(berth::unschedulable(1));
  }

 private:
  static constexpr berth_field_v1 k_fields[] = {{{"percent", 7}, BERTH_FIELD_INT, 0}};
  berth::JoinedByNode<Load> loads_;
};

struct Cluster {
  FakeCluster& fake() { return FakeCluster::of(policy); }
  void put(const std::string& node, std::int64_t percent) { fake().put(k_loads, "", node, {percent}); }
  /// "low", "busy" or "unknown" for each of these nodes, which are the cluster.
  std::string judge(const std::vector<std::string>& names) {
    fake().nodes.clear();
    for (const std::string& name : names) {
      NodeSpec& node = fake().nodes.emplace_back();
      node.name = name;
    }
    Attempt attempt(policy, {.name = "p"}, fake().nodes);
    if (const auto outcome = attempt.pre_filter(); outcome.code != BERTH_OK) return outcome.text;
    std::string words;
    for (const auto& answer : attempt.filter())
      words += answer == berth::testkit::passes() ? "low " : answer.unresolvable ? "unknown " : "busy ";
    return words;
  }
  Policy policy{&berth::detail::k_library<LowLoad>, {}, FakeCluster::install};
};

TEST(JoinedByNode, FindsTheObjectOfTheNodesName) {
  Cluster c;
  c.put("a", 10);
  c.put("b", 90);
  c.fake().put(k_loads, "somewhere", "c", {std::int64_t{1}});
  EXPECT_EQ(c.judge({"a", "b", "c"}), "low busy unknown ");
}

TEST(JoinedByNode, FollowsObjectsThatChangeComeAndGo) {
  Cluster c;
  c.put("a", 10);
  EXPECT_EQ(c.judge({"a", "b"}), "low unknown ");
  c.put("a", 60);
  c.put("b", 0);
  EXPECT_EQ(c.judge({"a", "b"}), "busy low ");
  c.fake().remove(k_loads, "", "a");
  EXPECT_EQ(c.judge({"a", "b"}), "unknown low ");
}

TEST(JoinedByNode, FollowsNodesThatTakeOtherSlots) {
  Cluster c;
  c.put("a", 10);
  c.put("b", 90);
  EXPECT_EQ(c.judge({"a", "b"}), "low busy ");
  EXPECT_EQ(c.judge({"b", "a"}), "busy low ") << "two nodes have changed places";
  EXPECT_EQ(c.judge({"a"}), "low ");
  c.put("later", 20);
  EXPECT_EQ(c.judge({"a", "b", "later"}), "low busy low ") << "an object before its node";
  EXPECT_EQ(c.judge({"later"}), "low ");
  c.put("b", 5);
  EXPECT_EQ(c.judge({"later", "b"}), "low low ") << "an object that changed while its node was away";
}

TEST(JoinedByNode, TakesNothingOfABatchThatCannotBeDecoded) {
  Cluster c;
  c.put("a", 10);
  EXPECT_EQ(c.judge({"a"}), "low ");
  c.put("a", 90);
  c.fake().put(k_loads, "", "broken", {""});
  EXPECT_EQ(c.judge({"a"}), "a load without a number");
  c.fake().remove(k_loads, "", "broken");
  EXPECT_EQ(c.judge({"a"}), "busy ");
}

}  // namespace
