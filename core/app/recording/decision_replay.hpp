// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "base/result.hpp"
#include "config/profile.hpp"
#include "recording/held_bytes.hpp"
#include "recording/record.hpp"

namespace berth::app {

/// A decision that does not come out as it was recorded.
struct ReplayDifference {
  std::int64_t wall_ns = 0;
  std::string pod;  // "namespace/name"
  std::uint32_t attempt = 0;
  std::string recorded, replayed;  // "node a", or "node a of 7 that fit, total 243", or "no node: " with the message
};

struct ReplayCounts {
  std::uint64_t decisions = 0, same = 0, different = 0;
  std::uint64_t without_nodes = 0;    // of groups that were not complete: no node was looked at
  std::uint64_t not_decidable = 0;    // the cluster is not known, or not all attempts of a plan
  std::uint64_t refused_changes = 0;  // that the cache would not take: the recording contradicts itself
};

/// Decides again what was recorded, each decision about the cluster as it was, whatever came of those before.
///
/// Reuses nothing of earlier verdicts, so that a plugin that reads what it does not declare is found. Not asked again:
/// pre-bind, bind and post-bind, and extenders.
/// Threads: one. symbols, configuration and plugins outlive it.
class DecisionReplay {
 public:
  static constexpr std::size_t k_differences_max = 1000;

  /// When a decision with a node has come out as recorded: with the same node, or with the same node, as many feasible
  /// nodes and the same total of scores. What a plugin reads that it does not declare often changes only these.
  enum class Same : std::uint8_t { node, node_and_numbers };

  DecisionReplay(SymbolTable& symbols, const config::Configuration& configuration, const PluginLibrary& plugins,
                 Same same);
  ~DecisionReplay();

  /// The records in their order. `begins_run`: as Reader::begins_run(). Fails when a plugin refuses to be made, and when
  /// the cluster is larger than recording::HeldBytes allows.
  Status take(const recording::Record& record, bool begins_run);
  /// After the last record.
  void end();

  const ReplayCounts& counts() const noexcept { return counts_; }
  const std::vector<ReplayDifference>& differences() const noexcept { return differences_; }

 private:
  class World;
  Status begin();
  void settle_held();
  void forget();
  void give_up_plan();

  SymbolTable& symbols_;
  const config::Configuration& configuration_;
  const PluginLibrary& plugins_;
  const Same same_;
  ReplayCounts counts_;
  std::vector<ReplayDifference> differences_;
  std::unique_ptr<World> world_;  // null: what the cluster is like is not known
  bool has_changes_ = false;      // a change of the cluster came since it was known; a cut has the whole cluster first
  bool skips_state_ = false;
  bool is_deciding_ = false;             // a look was seen, and its attempt was not
  std::vector<recording::Record> held_;  // came since that look, so the decision did not see them
  std::vector<recording::Record> plan_;  // attempts of a plan that is not complete yet
  std::size_t held_bytes_ = 0, plan_bytes_ = 0;
  recording::HeldBytes cluster_bytes_;
};

}  // namespace berth::app
