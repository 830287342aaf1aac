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

/// Where the next pod belongs.
class Choice {
 public:
  explicit Choice(const Workload& workload) : w_(workload) {}

  int best(const std::vector<Used>& used, std::vector<NodeDevices>& devices, const RequestClass& asks) {
    feasible_.clear();
    for (std::size_t n = 0; n < used.size(); ++n)
      if (used[n].cpu + asks.cpu_milli <= w_.node_cpu_milli &&
          used[n].memory + asks.memory_bytes <= w_.node_memory_bytes && used[n].pods + 1 <= w_.node_pods &&
          (devices.empty() || devices[n].allocate(w_.device_claims, false)))
        feasible_.push_back(static_cast<std::uint32_t>(n));
    if (order_.size() != feasible_.size()) {
      order_.clear();
      walk(0, feasible_.size(), order_);
    }
    int best = -1;
    std::int64_t best_score = -1;
    for (const std::uint32_t i : order_) {
      const std::int64_t s = score(w_, used[feasible_[i]], asks);
      if (s > best_score) {
        best_score = s;
        best = static_cast<int>(feasible_[i]);
      }
    }
    return best;
  }

 private:
  const Workload& w_;
  std::vector<std::uint32_t> feasible_, order_;
};

void charge(Used& used, const RequestClass& asks, int sign) {
  used.cpu += sign * asks.cpu_milli;
  used.memory += sign * asks.memory_bytes;
  used.pods += sign;
}

}  // namespace

bool is_checkable(const Workload& w) {
  if (w.rule != PodRule::none || !w.bound.empty()) return false;
  return w.device_claims == DeviceClaims::none || (w.device_claims != DeviceClaims::alternatives && w.gang == 1);
}

std::string check(const Workload& w, const std::vector<int>& placements) {
  std::vector<Used> used(w.nodes.size());
  std::vector<NodeDevices> devices(w.device_claims == DeviceClaims::none ? 0 : w.nodes.size());
  Choice choice(w);
  for (std::size_t first = 0; first < w.pods.size(); first += w.gang) {
    const std::size_t end = std::min(first + w.gang, w.pods.size());
    std::vector<int> best;
    for (std::size_t p = first; p < end; ++p) {
      const RequestClass& asks = w.classes[w.class_of_pod[p]];
      best.push_back(choice.best(used, devices, asks));
      if (best.back() < 0) continue;
      charge(used[static_cast<std::size_t>(best.back())], asks, +1);
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
