// SPDX-License-Identifier: Apache-2.0
#include "bench/checker.hpp"

#include <cmath>
#include <cstdlib>

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
      ((w.node_cpu_milli - cpu) * 100 / w.node_cpu_milli + (w.node_memory_bytes - memory) * 100 / w.node_memory_bytes) / 2;
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

}  // namespace

std::string check(const Workload& w, const std::vector<int>& placements) {
  std::vector<Used> used(w.nodes.size());
  std::vector<std::uint32_t> feasible, order;
  for (std::size_t p = 0; p < w.pods.size(); ++p) {
    const RequestClass& asks = w.classes[w.class_of_pod[p]];
    feasible.clear();
    for (std::size_t n = 0; n < used.size(); ++n)
      if (used[n].cpu + asks.cpu_milli <= w.node_cpu_milli && used[n].memory + asks.memory_bytes <= w.node_memory_bytes &&
          used[n].pods + 1 <= w.node_pods)
        feasible.push_back(static_cast<std::uint32_t>(n));
    int best = -1;
    if (!feasible.empty()) {
      if (order.size() != feasible.size()) {
        order.clear();
        walk(0, feasible.size(), order);
      }
      std::int64_t best_score = -1;
      for (const std::uint32_t i : order) {
        const std::int64_t s = score(w, used[feasible[i]], asks);
        if (s > best_score) {
          best_score = s;
          best = static_cast<int>(feasible[i]);
        }
      }
    }
    if (placements[p] != best)
      return fmt::format("pod {} went to {}, the checker says {}", w.pods[p]->name,
                         placements[p] < 0 ? "no node" : w.nodes[static_cast<std::size_t>(placements[p])]->name,
                         best < 0 ? "no node" : w.nodes[static_cast<std::size_t>(best)]->name);
    if (best < 0) continue;
    Used& u = used[static_cast<std::size_t>(best)];
    u.cpu += asks.cpu_milli;
    u.memory += asks.memory_bytes;
    ++u.pods;
  }
  return {};
}

}  // namespace berth::bench
