// SPDX-License-Identifier: Apache-2.0
// Pods that share GPUs by the plugin, in clusters that change.
#include <cstdlib>
#include <random>

#include "extenders/extender_fixture.hpp"
#include "support/seeds.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_profile = "profiles: [{plugins: {multiPoint: {enabled: [{name: GpuShare, weight: 1}]}}}]";

class GpuWorld : public ExtenderWorld {
 public:
  explicit GpuWorld(const std::string& more = k_profile) : ExtenderWorld("[]", more) {}

  void gpu_node(const std::string& name, int cards, int card_memory) {
    const std::string room =
        "{cpu: 64, memory: 64Gi, pods: 110, example.com/gpu-mem: " + std::to_string(cards * card_memory) +
        ", example.com/gpu-count: " + std::to_string(cards) + "}";
    put("{apiVersion: v1, kind: Node, metadata: {name: " + name + "}, status: {capacity: " + room +
        ", allocatable: " + room + "}}");
  }
  void gpu_pod(const std::string& name, int memory, const std::string& spec = "") {
    pod(name, "limits: {example.com/gpu-mem: " + std::to_string(memory) + "}", spec);
  }
  /// -1: none.
  int card(const std::string& name) {
    const model::PodPtr pod = simulation->cluster().find_pod("ns", name);
    for (const model::Label& annotation : pod->annotations)
      if (simulation->symbols().text(annotation.key) == "example.com/gpu-card")
        return std::atoi(std::string(simulation->symbols().text(annotation.value)).c_str());
    return -1;
  }
};

TEST(GpuShare, APodGetsACardAndSaysWhich) {
  GpuWorld world;
  world.gpu_node("a", 2, 16);
  world.gpu_pod("p", 10);
  world.gpu_pod("q", 10);
  world.gpu_pod("r", 6);
  world.run();
  for (const char* pod : {"p", "q", "r"}) EXPECT_EQ(world.place(pod), "a");
  EXPECT_EQ((std::set<int>{world.card("p"), world.card("q")}), (std::set<int>{0, 1}));
  EXPECT_GE(world.card("r"), 0);
}

TEST(GpuShare, TwoCardsWithEnoughTogetherAreNotEnough) {
  GpuWorld world;
  world.gpu_node("a", 2, 16);
  world.gpu_pod("p", 10);
  world.gpu_pod("q", 10);
  world.run();
  world.gpu_pod("r", 8);  // 6 and 6 are left
  world.run();
  EXPECT_EQ(world.place("r"), "");
  EXPECT_EQ(world.decisions["r"].message,
            "0/1 nodes are available: 1 node(s) had no card with enough free GPU memory.");
  world.simulation->cluster().remove_pod("ns", "q");
  world.advance(std::chrono::seconds(60));
  EXPECT_EQ(world.place("r"), "a");
  EXPECT_EQ(world.card("r"), 1);
}

TEST(GpuShare, TheTightestCardAndNodeAreTaken) {
  GpuWorld world(
      "profiles: [{plugins: {multiPoint: {disabled: [{name: \"*\"}], enabled: [{name: PrioritySort}, {name: "
      "DefaultBinder}, "
      "{name: GpuShare, weight: 1}]}}}]");
  world.gpu_node("a", 2, 16);
  world.gpu_node("b", 2, 16);
  world.gpu_pod("p", 6);
  world.run();
  const std::string first = world.place("p");
  ASSERT_NE(first, "");
  world.gpu_pod("q", 10);  // fills the card
  world.gpu_pod("r", 16);
  world.run();
  EXPECT_EQ(world.place("q"), first);
  EXPECT_EQ(world.card("q"), world.card("p"));
  ASSERT_NE(world.place("r"), "");
  EXPECT_FALSE(world.card("r") == world.card("p") && world.place("r") == first);
}

TEST(GpuShare, NodesWithoutCardsAreNoChoiceAndOtherPodsAreLeftAlone) {
  GpuWorld world;
  world.put(
      "{apiVersion: v1, kind: Node, metadata: {name: odd}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9, "
      "example.com/gpu-mem: 32}}}");
  world.gpu_pod("p", 1);
  world.pod("plain");
  world.run();
  EXPECT_EQ(world.decisions["p"].message, "0/1 nodes are available: 1 node(s) had no GPU to share.");
  EXPECT_EQ(world.place("plain"), "odd");
  EXPECT_EQ(world.card("plain"), -1);
}

TEST(GpuShare, CardsThatPodsOnNodesNameAreTaken) {
  GpuWorld world;
  world.gpu_node("a", 2, 16);
  world.put(
      "{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: ns, annotations: {example.com/gpu-card: \"0\"}}, "
      "spec: {nodeName: a, "
      "containers: [{name: c, image: i, resources: {limits: {example.com/gpu-mem: 12}}}]}}");
  world.gpu_pod("p", 8);
  world.run();
  EXPECT_EQ(world.card("p"), 1);
  world.gpu_pod("unknown", 4, "nodeName: a");  // says nothing: it counts on both cards, so 0 and 4 are left
  world.gpu_pod("q", 5);
  world.gpu_pod("r", 4);
  world.run();
  EXPECT_EQ(world.place("q"), "");
  EXPECT_EQ(world.card("r"), 1);
}

TEST(GpuShare, EvictionsMakeRoomOnOneCard) {
  GpuWorld world;
  world.gpu_node("a", 2, 16);
  world.gpu_pod("low", 16, "priority: 1");
  world.gpu_pod("mid", 16, "priority: 2");
  world.run();
  world.gpu_pod("high", 12, "priority: 100");
  world.run();
  EXPECT_EQ(world.decisions["high"].victims, std::vector<std::string>{"ns/low"});
  world.advance(std::chrono::seconds(120));
  EXPECT_EQ(world.place("high"), "a");
}

TEST(GpuShare, NamesOfResourcesAndAnnotationAreArgs) {
  GpuWorld world(
      "profiles: [{plugins: {multiPoint: {enabled: [{name: GpuShare}]}}, pluginConfig: [{name: GpuShare, args: "
      "{memoryResource: a.b/m, cardsResource: a.b/c, cardAnnotation: a.b/card}}]}]");
  world.put(
      "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9, a.b/m: "
      "8, a.b/c: 2}}}");
  world.pod("p", "limits: {a.b/m: 5}");
  world.pod("q", "limits: {a.b/m: 4}");
  world.run();
  EXPECT_EQ(world.place("p"), "");
  EXPECT_EQ(world.place("q"), "a");
  const model::PodPtr pod = world.simulation->cluster().find_pod("ns", "q");
  EXPECT_TRUE(std::any_of(pod->annotations.begin(), pod->annotations.end(), [&](const model::Label& annotation) {
    return world.simulation->symbols().text(annotation.key) == "a.b/card";
  }));
}

/// Pods come and go; no card ever has more than it holds, and who waits has no card.
void live_a_while(std::uint32_t seed) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<std::uint64_t>(bound)); };
  GpuWorld world;
  std::map<std::string, std::pair<int, int>> nodes;  // cards, memory of each
  for (int n = 0; n < 5; ++n) {
    const std::string name = "n" + std::to_string(n);
    nodes[name] = {1 + below(4), 8 + below(9)};
    world.gpu_node(name, nodes[name].first, nodes[name].second);
  }
  std::map<std::string, int> pods;  // that were not deleted
  for (int event = 0; event < 120; ++event) {
    if (pods.empty() || below(3) != 0) {
      const std::string name = "p" + std::to_string(event);
      pods[name] = 1 + below(12);
      world.gpu_pod(name, pods[name]);
    } else {
      const auto gone = std::next(pods.begin(), below(static_cast<int>(pods.size())));
      world.simulation->cluster().remove_pod("ns", gone->first);
      pods.erase(gone);
    }
    const bool settles = event % 40 == 39;
    world.advance(std::chrono::seconds(settles ? 400 : below(20)));
    std::map<std::pair<std::string, int>, int> used;
    for (const auto& [name, memory] : pods)
      if (const std::string node = world.place(name); !node.empty()) {
        ASSERT_GE(world.card(name), 0) << name;
        ASSERT_LT(world.card(name), nodes[node].first) << name;
        used[{node, world.card(name)}] += memory;
      }
    for (const auto& [card, sum] : used)
      ASSERT_LE(sum, nodes[card.first].second) << card.first << " card " << card.second;
    // After a while, no pod waits for which some card has room.
    for (const auto& [name, memory] : pods)
      for (const auto& [node, cards] : nodes)
        for (int card = 0; card < cards.first && settles && world.place(name).empty(); ++card)
          ASSERT_LT((cards.second - used[{node, card}]), memory) << name << " fits on " << node;
  }
}

TEST(GpuShare, NoCardIsEverOverCommittedAndNoPodWaitsForRoomThatIsThere) {
  for (const std::uint32_t seed : seeds()) live_a_while(seed);
}

}  // namespace
}  // namespace berth::tests
