// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/objects.hpp"

/// What is where at the API server, and where a pod would fit: each node looked at, each pod counted.
namespace berth::simulation {

using PodSet = std::set<const PodState*>;

/// What one who decided knew of placed pods and of nodes.
struct Knowledge {
  std::function<bool(const PodState&)> certainly_there, perhaps_there;
  std::int64_t nodes_known_until_ns = k_not_yet;  // of what nodes have become later it may not have heard
};

class Cluster {
 public:
  /// How long what is gone is remembered.
  static constexpr std::int64_t k_remembered_ns = 300'000'000'000;

  void put_node(NodeState node, std::int64_t now_ns);
  void remove_node(const std::string& name, std::int64_t now_ns);
  /// Answers with what is stored.
  PodState& put_pod(PodState pod);
  void remove_pod(const std::string& ns, const std::string& name, std::int64_t now_ns);
  /// Someone who decides counts the pod as there for a while, whatever becomes of that.
  void attempted(PodState pod, const std::string& node, std::int64_t sent_ns);
  void put_volume(const std::string& name, std::vector<Expressions> terms) { volumes_[name] = std::move(terms); }
  void put_claim(const std::string& ns, const std::string& name, std::string volume);
  void forget_before(std::int64_t time_ns);

  const std::map<std::string, PodState>& pods() const noexcept { return pods_; }  // by "namespace/name"
  const std::map<std::string, NodeState>& nodes() const noexcept { return nodes_; }
  PodState* find_pod(std::string_view ns, std::string_view name);
  const NodeState* find_node(const std::string& name) const;
  std::optional<std::int64_t> gone_since_ns(const std::string& node) const;
  const PodSet& pods_on(const std::string& node) const;
  Amount used_on(const std::string& node) const;
  /// Pods that have gone, or are over, latest last.
  const std::deque<PodState>& past_pods() const noexcept { return past_pods_; }

  /// Why no version of that node from `since_ns` on was one for the pod; nothing when one was.
  std::optional<std::string> refusal_since(const PodState& pod, const std::string& node, std::int64_t since_ns) const;
  /// Why the pods around keep that one from the node, but for those that it must be near.
  std::optional<std::string> refusal_of_pods(const PodState& pod, const NodeState& node,
                                             const Knowledge& knowledge) const;
  /// What it must be near and is not there; null: all is.
  const PodTerm* unmet_near(const PodState& pod, const NodeState& node, const Knowledge& knowledge) const;
  /// As things are now. `without`: as if those were gone. `with_nominated`: those of no lower priority count as there.
  bool fits(const PodState& pod, const NodeState& node, const PodSet& without, bool with_nominated) const;
  bool fits_somewhere(const PodState& pod) const;
  bool can_reach_volumes(const PodState& pod, const NodeState& node) const;

 private:
  using Count = std::map<std::string, std::int64_t>;  // by domain
  template <typename Do>
  void each_placed(Do&& then) const;
  std::optional<std::string> refusal_of_spread(const PodState& pod, const NodeState& node, const SpreadTerm& term,
                                               const Knowledge& knowledge) const;
  /// Whether both nodes are in one domain: in each version of them since then, or in one of them.
  bool always_together(const std::string& a, const std::string& b, const std::string& key, std::int64_t since_ns) const;
  bool once_together(const std::string& a, const std::string& b, const std::string& key, std::int64_t since_ns) const;
  std::vector<const Labels*> labels_since(const std::string& node, std::int64_t since_ns) const;

  std::map<std::string, PodState> pods_;
  std::map<std::string, NodeState> nodes_;
  std::deque<PodState> past_pods_;
  std::deque<NodeState> past_nodes_;
  std::map<std::string, std::int64_t> gone_nodes_;
  std::map<std::string, PodSet> on_node_;
  std::map<std::string, std::vector<Expressions>> volumes_;
  std::map<std::string, std::string> claims_;  // what volume, by "namespace/name"
};

std::string key_of(std::string_view ns, std::string_view name);

}  // namespace berth::simulation
