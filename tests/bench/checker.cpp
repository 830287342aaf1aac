// SPDX-License-Identifier: Apache-2.0
#include "bench/checker.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "bench/device_claims.hpp"

namespace berth::bench {
namespace {

struct Used {
  std::int64_t cpu = 0, memory = 0, pods = 0;
};

int balance(double cpu, double memory) {
  const double deviation = std::fabs((cpu - memory) / 2);
  return static_cast<int>((1 - deviation) * 100);
}

std::int64_t score(const Workload& w, const Used& used, const RequestClass& asks) {
  const std::int64_t cpu = used.cpu + asks.cpu_milli, memory = used.memory + asks.memory_bytes;
  const std::int64_t least =
      ((w.node_cpu_milli - cpu) * 100 / w.node_cpu_milli + (w.node_memory_bytes - memory) * 100 / w.node_memory_bytes) /
      2;
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return std::fmin(1.0, static_cast<double>(part) / static_cast<double>(whole));
  };
  const int after = balance(share(cpu, w.node_cpu_milli), share(memory, w.node_memory_bytes));
  const int before = balance(share(used.cpu, w.node_cpu_milli), share(used.memory, w.node_memory_bytes));
  return least + 50 + (50 + after - before) / 2;
}

/// Pre-order of an implicit binary tree, by walking it.
void walk(std::size_t i, std::size_t n, std::vector<std::uint32_t>& order) {
  if (i >= n) return;
  order.push_back(static_cast<std::uint32_t>(i));
  walk(2 * i + 1, n, order);
  walk(2 * i + 2, n, order);
}

/// Where pods of one application are that a rule looks at.
struct Application {
  std::vector<std::int64_t> by_node, by_zone;            // pods with its label
  std::vector<std::int64_t> rule_by_node, rule_by_zone;  // of these, those with the rule
  std::int64_t count = 0;
};

/// Where the next pod belongs.
class Choice {
 public:
  explicit Choice(const Workload& workload) : w_(workload) {
    for (Application& app : apps_)
      app = {std::vector<std::int64_t>(w_.nodes.size()), std::vector<std::int64_t>(w_.zones),
             std::vector<std::int64_t>(w_.nodes.size()), std::vector<std::int64_t>(w_.zones)};
    // In a mixed workload each kind of pods has a label of its own, and pods that are bound before have another.
    if (w_.rule != PodRule::mixed)
      for (std::size_t i = 0; i < w_.bound.size(); ++i) add(i % w_.nodes.size(), w_.rule, false);
  }

  /// A pod of the application of that rule is on the node.
  void add(std::size_t node, PodRule rule, bool has_rule) {
    Application& app = apps_[static_cast<std::size_t>(rule)];
    ++app.count;
    ++app.by_node[node];
    ++app.by_zone[node % w_.zones];
    if (has_rule) ++app.rule_by_node[node], ++app.rule_by_zone[node % w_.zones];
  }

  /// pod: its number among those that are pending.
  int best(const std::vector<Used>& used, std::vector<NodeDevices>& devices, std::size_t pod) {
    const RequestClass& asks = w_.classes[w_.class_of_pod[pod]];
    feasible_.clear();
    for (std::size_t n = 0; n < used.size(); ++n)
      if (used[n].cpu + asks.cpu_milli <= w_.node_cpu_milli &&
          used[n].memory + asks.memory_bytes <= w_.node_memory_bytes && used[n].pods + 1 <= w_.node_pods &&
          allows(pod, n) && (devices.empty() || devices[n].allocate(w_.device_claims, false)))
        feasible_.push_back(static_cast<std::uint32_t>(n));
    if (order_.size() != feasible_.size()) {
      order_.clear();
      walk(0, feasible_.size(), order_);
    }
    score_rule(rule_of_pod(w_, pod));
    int best = -1;
    std::int64_t best_score = -1;
    for (const std::uint32_t i : order_) {
      const std::int64_t s = score(w_, used[feasible_[i]], asks) + 2 * rule_scores_[i];
      if (s > best_score) {
        best_score = s;
        best = static_cast<int>(feasible_[i]);
      }
    }
    return best;
  }

 private:
  /// The pod's rule lets it go to the node.
  bool allows(std::size_t pod, std::size_t node) const {
    const PodRule rule = rule_of_pod(w_, pod);
    const Application& app = apps_[static_cast<std::size_t>(rule)];
    switch (rule) {
      case PodRule::one_node:
        return node == pod % w_.nodes.size();
      case PodRule::affinity_zone:
        return app.count == 0 || app.by_zone[node % w_.zones] != 0;
      case PodRule::anti_affinity_host:
        return app.by_node[node] == 0;
      case PodRule::spread_zone:
        return app.by_zone[node % w_.zones] + 1 - *std::min_element(app.by_zone.begin(), app.by_zone.end()) <= 1;
      default:
        return true;
    }
  }

  /// What the policy of the rule gives each feasible node, 0 to 100.
  void score_rule(PodRule rule) {
    const Application& app = apps_[static_cast<std::size_t>(rule)];
    rule_scores_.assign(feasible_.size(), 0);
    if (feasible_.empty()) return;
    const auto raw = [&](std::size_t node) -> std::int64_t {
      switch (rule) {
        case PodRule::affinity_zone:  // a required term of a pod that is there counts 1
          return app.rule_by_zone[node % w_.zones];
        case PodRule::preferred_affinity_host:  // its own term of weight 10, and those of the others
          return 10 * (app.by_node[node] + app.rule_by_node[node]);
        case PodRule::spread_soft:
          return std::llround(static_cast<double>(app.by_zone[node % w_.zones]) * zone_weight() +
                              static_cast<double>(app.by_node[node]) *
                                  std::log(static_cast<double>(feasible_.size() + 2)));
        default:
          return 0;
      }
    };
    for (std::size_t i = 0; i < feasible_.size(); ++i) rule_scores_[i] = raw(feasible_[i]);
    const auto [least, most] = std::minmax_element(rule_scores_.begin(), rule_scores_.end());
    const std::int64_t min = *least, max = *most;
    for (std::int64_t& s : rule_scores_) {
      if (rule == PodRule::spread_soft)
        s = max == 0 ? 100 : 100 * (max + min - s) / max;
      else
        s = max == min
                ? 0
                : static_cast<std::int64_t>(100 * (static_cast<double>(s - min) / static_cast<double>(max - min)));
    }
  }
  double zone_weight() const {
    std::vector<bool> seen(w_.zones);
    std::size_t zones = 0;
    for (const std::uint32_t node : feasible_) {
      if (seen[node % w_.zones]) continue;
      seen[node % w_.zones] = true;
      if (++zones == w_.zones) break;
    }
    return std::log(static_cast<double>(zones + 2));
  }

  const Workload& w_;
  Application apps_[static_cast<std::size_t>(PodRule::mixed) + 1];
  std::vector<std::uint32_t> feasible_, order_;
  std::vector<std::int64_t> rule_scores_;
};

void charge(Used& used, const RequestClass& asks, int sign) {
  used.cpu += sign * asks.cpu_milli;
  used.memory += sign * asks.memory_bytes;
  used.pods += sign;
}

}  // namespace

bool is_checkable(const Workload& w) {
  if (w.rule != PodRule::none && (w.gang > 1 || w.device_claims != DeviceClaims::none)) return false;
  return w.device_claims == DeviceClaims::none || (w.device_claims != DeviceClaims::alternatives && w.gang == 1);
}

std::size_t checked_decisions(const Workload& w) noexcept {
  constexpr std::size_t k_with_rules = 2000;
  return w.rule == PodRule::none && w.bound.empty() ? w.pods.size() : std::min(w.pods.size(), k_with_rules);
}

std::string check(const Workload& w, const std::vector<int>& placements) {
  std::vector<Used> used(w.nodes.size());
  for (std::size_t i = 0; i < w.bound.size(); ++i) charge(used[i % used.size()], k_bound_asks, +1);
  std::vector<NodeDevices> devices(w.device_claims == DeviceClaims::none ? 0 : w.nodes.size());
  Choice choice(w);
  for (std::size_t first = 0; first < checked_decisions(w); first += w.gang) {
    const std::size_t end = std::min(first + w.gang, w.pods.size());
    std::vector<int> best;
    for (std::size_t p = first; p < end; ++p) {
      const RequestClass& asks = w.classes[w.class_of_pod[p]];
      best.push_back(choice.best(used, devices, p));
      if (best.back() < 0) continue;
      charge(used[static_cast<std::size_t>(best.back())], asks, +1);
      if (rule_of_pod(w, p) != PodRule::none)
        choice.add(static_cast<std::size_t>(best.back()), rule_of_pod(w, p), true);
      if (!devices.empty()) devices[static_cast<std::size_t>(best.back())].allocate(w.device_claims, true);
    }
    if (std::find(best.begin(), best.end(), -1) != best.end())
      for (std::size_t i = 0; i < best.size(); ++i) {
        if (best[i] >= 0) charge(used[static_cast<std::size_t>(best[i])], w.classes[w.class_of_pod[first + i]], -1);
        best[i] = -1;
      }
    for (std::size_t p = first; p < end; ++p)
      if (placements[p] != best[p - first])
        return fmt::format("pod {} went to {}, the checker says {}", w.pods[p]->name,
                           placements[p] < 0 ? "no node" : w.nodes[static_cast<std::size_t>(placements[p])]->name,
                           best[p - first] < 0 ? "no node" : w.nodes[static_cast<std::size_t>(best[p - first])]->name);
  }
  return {};
}

}  // namespace berth::bench
