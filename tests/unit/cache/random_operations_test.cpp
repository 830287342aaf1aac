// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "unit/cache/cache_fixture.hpp"

namespace berth::cache::testing {
namespace {

constexpr int k_node_names = 12, k_pod_names = 25, k_apps = 12, k_zones = 3, k_steps = 3000;

/// The cluster in the plainest terms: what the cache should believe, counted again for each question.
struct Model {
  struct Zone {
    std::string key;
    std::vector<std::string> names;
  };
  struct PodFacts {
    std::string node, app;
    std::int64_t cpu_milli = 0;
    bool anti = false;
  };

  void enter(const std::string& name, const std::string& zone) {
    const auto known = nodes.find(name);
    if (known != nodes.end()) {
      if (known->second == zone) return;
      leave(name);
    }
    nodes[name] = zone;
    auto at = std::find_if(zones.begin(), zones.end(), [&](const Zone& z) { return z.key == zone; });
    if (at == zones.end()) at = zones.insert(zones.end(), Zone{zone, {}});
    at->names.push_back(name);
  }
  void leave(const std::string& name) {
    for (auto zone = zones.begin(); zone != zones.end(); ++zone) {
      std::erase(zone->names, name);
      if (!zone->names.empty()) continue;
      zones.erase(zone);
      break;
    }
    nodes.erase(name);
  }
  std::string tree_list() const {
    std::string text;
    std::size_t left = nodes.size();
    for (std::size_t index = 0; left > 0; ++index)
      for (const Zone& zone : zones) {
        if (index >= zone.names.size()) continue;
        text += (text.empty() ? "" : " ") + zone.names[index];
        --left;
      }
    return text;
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& [name, zone] : nodes) all.insert(name);
    return all;
  }

  std::map<std::string, std::string> nodes;  // name, zone
  std::vector<Zone> zones;
  std::map<std::string, PodFacts> pods;
};

class RandomCluster : public CacheFixture {
 public:
  explicit RandomCluster(std::uint32_t seed) : random_(seed) {}

  void step() {
    switch (pick(8)) {
      case 0: {
        const std::string name = "n" + std::to_string(pick(k_node_names)), zone = "z" + std::to_string(pick(k_zones));
        add_node(name, zone);
        model_.enter(name, zone);
        return;
      }
      case 1: {
        const std::string name = "n" + std::to_string(pick(k_node_names));
        EXPECT_EQ(cache.remove_node(*make_node(name)).ok(), model_.nodes.count(name) != 0) << name;
        model_.leave_if_known(name);
        return;
      }
      case 2:
      case 3:
        return add_or_update();
      case 4:
        return assume_one();
      case 5:
        return remove_one();
      case 6:
        return end_one();
      default:
        return check();
    }
  }
  void check() {
    refresh();
    const std::set<std::string> members = model_.names();
    if (members != seen_members_) {
      seen_members_ = members;
      seen_order_ = model_.tree_list();
    }
    ASSERT_EQ(order(), seen_order_);
    ASSERT_EQ(snapshot.node_count(), members.size());
    std::map<std::string, std::int64_t> cpu_milli;
    std::map<std::string, std::size_t> pod_count;
    std::map<std::pair<std::string, std::string>, std::uint32_t> apps;
    std::set<std::string> apart;
    for (const auto& [name, pod] : model_.pods) {
      if (members.count(pod.node) == 0) continue;
      cpu_milli[pod.node] += pod.cpu_milli;
      ++pod_count[pod.node];
      ++apps[{pod.app, pod.node}];
      if (pod.anti) apart.insert(pod.app);
    }
    for (const std::string& name : members) {
      ASSERT_EQ(row(name).requested_of(k_cpu), cpu_milli[name]) << name;
      ASSERT_EQ(wide(snapshot.ensure_column({ColumnKind::free, k_cpu}), name), 4000 - cpu_milli[name]) << name;
      ASSERT_EQ(row(name).pods.size(), pod_count[name]) << name;
    }
    check_shapes(apps, apart);
    ASSERT_EQ(cache.counts().pods, model_.pods.size());
    ASSERT_EQ(cache.counts().assumed_pods, held_.size() + confirmed_.size());
  }

 private:
  struct Cluster : Model {
    void leave_if_known(const std::string& name) {
      if (nodes.count(name) != 0) leave(name);
    }
  };
  int pick(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  std::shared_ptr<model::Pod> random_pod(const std::string& name) {
    const int app = pick(k_apps);
    auto pod = make_pod(name, "n" + std::to_string(pick(k_node_names)), pick(20) * 100);
    pod->labels = {{symbols.intern("app"), symbols.intern(std::to_string(app))}};
    if (app % 4 == 0) {
      pod->spec.edit().affinity.present = true;
      pod->spec.edit().affinity.anti_required = {model::AffinityTerm{}};
    }
    return pod;
  }
  Model::PodFacts facts(const model::Pod& pod) {
    return {std::string(symbols.text(pod.node_name)), std::string(symbols.text(pod.labels[0].value)),
            pod.requests->resources[0].effective, !pod.spec->affinity.anti_required.empty()};
  }
  void add_or_update() {
    const std::string name = "p" + std::to_string(pick(k_pod_names));
    const auto pod = random_pod(name);
    const bool assumed = held_.count(name) != 0 || confirmed_.count(name) != 0;
    if (model_.pods.count(name) == 0 || assumed) {
      ASSERT_TRUE(cache.add_pod(pod).ok());
      held_.erase(name);  // its destructor must leave the confirmed pod alone
      confirmed_.erase(name);
    } else {
      ASSERT_FALSE(cache.add_pod(pod).ok());
      const bool moved = model_.pods[name].node != facts(*pod).node;
      ASSERT_EQ(cache.update_pod(pod).ok(), !moved);
    }
    model_.pods[name] = facts(*pod);
  }
  void assume_one() {
    const std::string name = "p" + std::to_string(pick(k_pod_names));
    const auto pod = random_pod(name);
    auto result = cache.assume(pod, pod->node_name);
    ASSERT_EQ(result.ok(), model_.pods.count(name) == 0);
    if (!result.ok()) return;
    held_.emplace(name, std::move(result).value());
    model_.pods[name] = facts(*pod);
  }
  void remove_one() {
    const std::string name = "p" + std::to_string(pick(k_pod_names));
    ASSERT_EQ(cache.remove_pod(*make_pod(name)).ok(), model_.pods.erase(name) != 0);
    held_.erase(name);
    confirmed_.erase(name);
  }
  void end_one() {
    if (held_.empty()) return;
    const auto at = std::next(held_.begin(), pick(static_cast<int>(held_.size())));
    const std::string name = at->first;
    if (pick(2) == 0) {
      at->second.confirm();
      confirmed_.insert(name);
    } else {
      model_.pods.erase(name);
    }
    held_.erase(at);
  }
  void check_shapes(const std::map<std::pair<std::string, std::string>, std::uint32_t>& want,
                    const std::set<std::string>& apart) {
    std::map<std::pair<std::string, std::string>, std::uint32_t> apps;
    std::uint32_t live = 0;
    for (const SnapshotShape& shape : snapshot.shapes()) {
      if (shape.nodes.empty()) continue;
      ++live;
      for (const ShapeNode& node : shape.nodes)
        apps[{std::string(symbols.text(shape.exemplar->labels[0].value)), snapshot.row(node.slot).node->name}] +=
            node.count;
    }
    ASSERT_EQ(apps, want);
    ASSERT_EQ(snapshot.live_shape_count(), live);
    std::set<std::string> listed;
    for (const ShapeId id : snapshot.shapes_with_required_anti())
      listed.emplace(symbols.text(snapshot.shapes()[id].exemplar->labels[0].value));
    ASSERT_EQ(listed, apart);
    ASSERT_EQ(snapshot.shapes_with_affinity().size(), apart.size());
  }

  std::mt19937 random_;
  Cluster model_;
  std::map<std::string, Assumption> held_;
  std::set<std::string> confirmed_;  // assumed for good, until the watch delivers
  std::set<std::string> seen_members_;
  std::string seen_order_;
};

TEST(RandomOperations, AgreeWithAPlainModel) {
  const std::uint32_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  SCOPED_TRACE(seed);
  RandomCluster cluster(seed);
  for (int i = 0; i < k_steps && !::testing::Test::HasFailure(); ++i) cluster.step();
  cluster.check();
}

}  // namespace
}  // namespace berth::cache::testing
