// SPDX-License-Identifier: Apache-2.0
// What nodes find against plain searches that look at every volume and every capacity, one by one.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

#include "../shared/storage/storage_scene.hpp"

namespace candidates_test {
namespace {
using namespace berth::testkit;
using namespace storage::testing;

constexpr const char* k_find = "node(s) didn't find available persistent volumes to bind";
constexpr const char* k_space = "node(s) did not have enough free storage";

class Candidates : public testing::Test {
 protected:
  Candidates() {
    put(cluster, storage::k_classes, storage_class("wait", "csi.example.com", "WaitForFirstConsumer"));
    put(cluster, storage::k_classes, storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"));
    put(cluster, storage::k_csi_drivers, ObjectSpec{"", "csi.example.com", {std::int64_t{1}}});
    for (int i = 0; i < 70; ++i) {
      Strings labels{{"host", "n" + std::to_string(i)}, {"size", std::to_string(i % 7)}};
      if (i % 5 != 0) labels.emplace("zone", "z" + std::to_string(i % 3));
      if (i % 4 == 0) labels.emplace("rack", "r" + std::to_string(i % 8));
      nodes.push_back({.name = "n" + std::to_string(i), .labels = labels});
    }
    seen(policy, nodes);
  }

  std::size_t below(std::size_t end) { return random() % end; }
  std::string quoted(const std::string& text) { return "\"" + text + "\""; }
  std::string value_for(const std::string& key) {
    if (key == "host") return "n" + std::to_string(below(75));
    if (key == "zone") return "z" + std::to_string(below(4));
    if (key == "size") return std::to_string(below(7));
    return "r" + std::to_string(below(8));
  }
  /// JSON of one entry of matchExpressions.
  std::string expression(bool of_nodes) {
    static const std::vector<std::string> keys = {"host", "zone", "rack", "size", "unknown"};
    const std::string key = keys[below(keys.size())];
    const std::size_t kind = below(10);
    std::string op = kind < 6 ? "In" : kind == 6 ? "NotIn" : kind == 7 ? "Exists" : "DoesNotExist";
    std::vector<std::string> values;
    if (kind == 9 && of_nodes) {
      op = below(2) == 0 ? "Gt" : "Lt";
      values = {std::to_string(below(7))};
    } else if (kind <= 6) {
      for (std::size_t n = 1 + below(3); n > 0; --n) values.push_back(value_for(key));
    }
    return "{\"key\":" + quoted(key) + ",\"operator\":" + quoted(op) + ",\"values\":" + quoted_list(values) + "}";
  }
  std::string expressions(bool of_nodes, std::size_t most) {
    std::string out;
    for (std::size_t n = 1 + below(most); n > 0; --n) out += (out.empty() ? "" : ",") + expression(of_nodes);
    return "\"matchExpressions\":[" + out + "]";
  }
  std::string affinity() {
    std::string out;
    for (std::size_t n = below(6) == 0 ? 2 : 1; n > 0; --n)
      out += (out.empty() ? "{" : ",{") + expressions(true, 3) + "}";
    return "[" + out + "]";
  }
  static auto value_in(const Strings& labels) {
    return [&labels](const std::string& key) -> std::optional<std::string_view> {
      const auto at = labels.find(key);
      return at == labels.end() ? std::nullopt : std::optional<std::string_view>(at->second);
    };
  }

  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() + 29;
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::mt19937 random{seed};
  Policy policy{tested_library(), {}, FakeCluster::install};
  FakeCluster& cluster = FakeCluster::of(policy);
  std::vector<NodeSpec> nodes;
};

TEST_F(Candidates, AreThoseOfAPlainSearch) {
  std::size_t passing = 0, rejecting = 0;
  for (int round = 0; round < 60; ++round) {
    struct Made {
      std::string name, phase;
      std::int64_t capacity;
      storage::Terms affinity;
      Strings labels;
    };
    std::vector<Made> made;
    std::vector<std::string> affinities;
    for (int i = 0; i < 8; ++i) affinities.push_back(affinity());
    for (int i = 0; i < 40; ++i) {
      Made volume{"v" + std::to_string(i),
                  below(10) == 0 ? "Released" : "Available",
                  static_cast<std::int64_t>(below(12)),
                  std::nullopt,
                  {{"tier", below(3) == 0 ? "gold" : "tin"}}};
      const std::string terms = below(12) == 0 ? "" : below(2) == 0 ? affinities[below(8)] : affinity();
      if (!terms.empty())
        volume.affinity = storage::parse_node_terms(berth::Json::parse("{\"nodeSelectorTerms\":" + terms + "}"));
      put_volume(cluster, {.name = volume.name,
                           .class_name = "local",
                           .capacity = volume.capacity,
                           .affinity = terms,
                           .labels = {{"tier", volume.labels.at("tier")}},
                           .phase = volume.phase});
      made.push_back(volume);
    }
    struct Asked {
      std::int64_t request;
      bool gold, impossible_mode;
    };
    std::vector<Asked> asked;
    PodSpec pod{.name = "p"};
    for (std::size_t i = 0; i < 1 + below(6); ++i) {
      const Asked claim{static_cast<std::int64_t>(below(9)), below(5) == 0, below(40) == 0};
      const std::string name = "c" + std::to_string(i);
      ObjectSpec object = storage::testing::claim({.name = name, .class_name = "local", .request = claim.request});
      if (claim.gold) object.values[storage::claim_field::selector] = R"({"matchLabels":{"tier":"gold"}})";
      if (claim.impossible_mode) object.values[storage::claim_field::modes] = R"(["ReadWriteMany"])";
      put(cluster, storage::k_claims, object);
      pod.volumes.push_back({"v", BERTH_VOLUME_CLAIM, name});
      asked.push_back(claim);
    }
    std::stable_sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.request < b.request; });

    std::vector<Answer> expected;
    std::vector<std::set<std::string>> chosen;
    for (const NodeSpec& node : nodes) {
      std::set<std::string>& taken = chosen.emplace_back();
      bool all = true;
      for (const Asked& claim : asked) {
        const Made* best = nullptr;
        for (const Made& volume : made) {
          if (volume.capacity < claim.request || volume.phase != "Available" || claim.impossible_mode ||
              (claim.gold && volume.labels.at("tier") != "gold") || taken.count(volume.name) != 0 ||
              !storage::matches(volume.affinity, value_in(node.labels)))
            continue;
          if (best == nullptr || std::tie(volume.capacity, volume.name) < std::tie(best->capacity, best->name))
            best = &volume;
        }
        all &= best != nullptr;
        if (best != nullptr) taken.insert(best->name);
      }
      expected.push_back(all ? passes() : unresolvable(k_find));
      ++(all ? passing : rejecting);
    }
    Attempt attempt(policy, pod, seen(policy, nodes));
    ASSERT_EQ(attempt.pre_filter(), Outcome{});
    ASSERT_EQ(attempt.filter(), expected) << "round " << round;

    const auto first = std::find(expected.begin(), expected.end(), passes());
    if (first == expected.end()) continue;
    const auto slot = static_cast<berth_slot>(first - expected.begin());
    const auto* ops = policy.ops<berth_reserve_ops_v1>("berth.reserve/1");
    NoteRecord note;
    ASSERT_EQ(policy.outcome(ops->reserve(policy.self(), attempt.cycle(), slot, note.raw()), note), Outcome{});
    std::set<std::string> assumed;
    for (const Made& volume : made)
      if (cluster.assumed(std::string(storage::k_volumes), "", volume.name)) assumed.insert(volume.name);
    EXPECT_EQ(assumed, chosen[slot]) << "round " << round;
    ops->unreserve(policy.self(), attempt.cycle(), slot);
  }
  EXPECT_GT(passing, 200u);
  EXPECT_GT(rejecting, 200u);
}

TEST_F(Candidates, HaveRoomWhereAPlainSearchFindsIt) {
  std::size_t passing = 0, rejecting = 0;
  for (int round = 0; round < 60; ++round) {
    struct Made {
      std::int64_t limit;
      storage::Term topology;
    };
    std::vector<Made> made;
    for (int i = 0; i < 12; ++i) {
      const std::string name = "k" + std::to_string(i);
      cluster.remove(std::string(storage::k_capacities), "default", name);
      if (below(4) == 0) continue;
      const bool of_class = below(5) != 0, has_topology = below(8) != 0, has_maximum = below(3) == 0;
      const std::string topology = has_topology ? "{" + expressions(false, 2) + "}" : "";
      const auto free = static_cast<std::int64_t>(below(9)), most = static_cast<std::int64_t>(below(9));
      put(cluster, storage::k_capacities,
          ObjectSpec{"default",
                     name,
                     {of_class ? "wait" : "other", free, has_maximum ? FieldText(most) : FieldText(""), topology}});
      if (of_class && has_topology)
        made.push_back({has_maximum ? most : free, storage::parse_label_selector(berth::Json::parse(topology))});
    }
    std::vector<std::int64_t> requests;
    PodSpec pod{.name = "p"};
    for (std::size_t i = 0; i < 1 + below(3); ++i) {
      const std::string name = "c" + std::to_string(i);
      requests.push_back(static_cast<std::int64_t>(below(7)));
      put_claim(cluster, {.name = name, .class_name = "wait", .request = requests.back()});
      pod.volumes.push_back({"v", BERTH_VOLUME_CLAIM, name});
    }
    std::vector<Answer> expected;
    for (const NodeSpec& node : nodes) {
      const bool all = std::all_of(requests.begin(), requests.end(), [&](std::int64_t request) {
        return std::any_of(made.begin(), made.end(), [&](const Made& capacity) {
          return capacity.limit >= request && storage::matches(capacity.topology, value_in(node.labels));
        });
      });
      expected.push_back(all ? passes() : unresolvable(k_space));
      ++(all ? passing : rejecting);
    }
    Attempt attempt(policy, pod, seen(policy, nodes));
    ASSERT_EQ(attempt.pre_filter(), Outcome{});
    ASSERT_EQ(attempt.filter(), expected) << "round " << round;
  }
  EXPECT_GT(passing, 200u);
  EXPECT_GT(rejecting, 200u);
}

}  // namespace
}  // namespace candidates_test
