// SPDX-License-Identifier: Apache-2.0
/// PodState: prefers nodes that pods are leaving, and avoids those that pods are nominated to.
///
/// Assumes: a terminating pod gives its room back soon, and a nominated pod will take some.
/// Steps:   raw is the number of terminating pods on the node less that of pods that are nominated to it, the pod at hand
///          included if it is one; then the least raw score becomes 0 and the greatest 100.
/// Ties:    left to the host. Where all nodes are alike, all score 0.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/podstate.
#include <berth/placed_pods.hpp>
#include <berth/plugin.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace {

class PodState {
 public:
  // What it depends on: pods that are on nodes, and those that are nominated, which no single bit names.
  static constexpr berth::Identity identity{
      .name = "PodState",
      .version = "1.0.0",
      .summary = "Prefers nodes with terminating pods to nodes with nominated ones."};
  static constexpr const char* services[] = {berth::Pods::id, berth::Intern::id, berth::NodeColumns::id};
  // Scores reject no pod: no event concerns it.
  static constexpr std::array<berth::Interest, 0> interests{};
  static constexpr berth::Normalize normalization = berth::Normalize::custom;

  explicit PodState(berth::Setup& setup)
      : pods_(setup.service<berth::Pods>()),
        intern_(setup.service<berth::Intern>()),
        columns_(setup.service<berth::NodeColumns>()),
        names_(setup.name()) {}
  ~PodState() { forget(); }
  PodState(const PodState&) = delete;
  PodState& operator=(const PodState&) = delete;

  /// All of it happens in normalize, which sees the nodes at once and may ask about nominated pods.
  std::int64_t score_each(const berth::Cycle&, berth::Row) const { return 0; }

  /// Of the many pods on nodes only those that came and went since the last attempt are looked at.
  void normalize(const berth::Cycle& cycle, std::span<const berth::Slot> nodes, std::span<std::int64_t> scores) {
    followed_.follow(
        pods_, cycle, [&] { forget(); },
        [&](const berth::PlacedPod& placed, int by) {
          if (placed.is_terminating()) count(placed.pod().node_name(), by);
        });
    ByNode raw = terminating_;
    pods_.nominated(cycle, BERTH_NO_SLOT,
                    [&](const berth::PlacedPod& placed) { --raw[placed.pod().nominated_node()]; });
    if (raw.empty()) return;  // all nodes are alike
    const berth::Id* const names = columns_.column(cycle, names_);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (const auto at = raw.find(names[nodes[i]]); at != raw.end()) scores[i] = at->second;
    const auto [lowest, highest] = std::minmax_element(scores.begin(), scores.end());
    const std::int64_t least = *lowest, range = *highest - *lowest;
    for (std::int64_t& score : scores) score = range == 0 ? 0 : (score - least) * BERTH_SCORE_MAX / range;
  }

 private:
  using ByNode = std::map<berth::Id, std::int64_t>;

  // A name is pinned for as long as something is counted for it: its number is not to be another's meanwhile.
  void count(berth::Id node, int by) {
    const auto [at, is_new] = terminating_.try_emplace(node, 0);
    if (is_new) intern_.pin(node);
    if ((at->second += by) != 0) return;
    terminating_.erase(at);
    intern_.unpin(node);
  }
  void forget() {
    for (const auto& [node, sum] : terminating_) intern_.unpin(node);
    terminating_.clear();
  }

  berth::Pods pods_;
  berth::Intern intern_;
  berth::NodeColumns columns_;
  berth::IdColumn names_;
  berth::PlacedPodsFollowed followed_;
  ByNode terminating_;  ///< by name of the node; a sum of 0 is not kept
};

}  // namespace

BERTH_PLUGIN(PodState)
