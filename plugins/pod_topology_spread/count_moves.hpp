// SPDX-License-Identifier: Apache-2.0
/// What pods that are imagined on a node, or away from it, change in counts by domain: a short list of differences from
/// counts that all clones of a state share, and the critical paths of each table of counts. A copy costs nothing that
/// grows with the cluster.
/// Threads: as a container's: only one thread at a time moves.
#pragma once
#include <berth/domains.hpp>

#include "critical_paths.hpp"

#include <vector>

namespace berth::pod_topology_spread {

class CountMoves {
 public:
  /// Critical paths of one more table, which has no count yet.
  CriticalPaths& add_table() { return paths_.emplace_back(); }

  /// value, count: the domain's label value, and what the table says of it.
  void move(std::uint32_t table, std::uint32_t domain, Id value, std::int64_t count, std::int64_t delta) {
    moves_.push_back({table, domain, delta});
    paths_[table].update(value, count + moved(table, domain));
  }
  std::int64_t lowest(std::uint32_t table) const noexcept { return paths_[table].lowest(); }

  /// Rows whose domain counts more than `most`. counts: the table, by domain; domain: by row.
  Mask above(std::uint32_t table, const std::int64_t* counts, const std::uint32_t* domain, std::int64_t most) const {
    if (moves_.empty()) return berth::detail::mask_of([&](unsigned i) { return counts[domain[i]] > most; });
    return berth::detail::mask_of([&](unsigned i) { return counts[domain[i]] + moved(table, domain[i]) > most; });
  }
  /// The same for one domain.
  bool is_above(std::uint32_t table, const std::int64_t* counts, std::uint32_t domain,
                std::int64_t most) const noexcept {
    return counts[domain] + moved(table, domain) > most;
  }

 private:
  struct Move {
    std::uint32_t table;
    std::uint32_t domain;
    std::int64_t delta;
  };
  std::int64_t moved(std::uint32_t table, std::uint32_t domain) const noexcept {
    std::int64_t sum = 0;
    for (const Move& move : moves_)
      if (move.table == table && move.domain == domain) sum += move.delta;
    return sum;
  }

  std::vector<CriticalPaths> paths_;  // by table
  std::vector<Move> moves_;
};

}  // namespace berth::pod_topology_spread
