// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "framework/points/filter.hpp"
#include "preemption/victim_index.hpp"

namespace berth::preemption {

/// Many nodes at once as they would be without some of their pods, judged by the ordinary filter calls, one row each.
///
/// Columns are copied once and then adjusted; plugins that watch single pods get a cloned state for each row where a pod
/// came or went that concerns them, and judge the others with the cycle's own. What WhatIf does for one node, this does
/// for a block; rows whose pods bring ports or volumes that a plugin reads, or that other pods are nominated to, are
/// WhatIf's.
/// Place:   VictimSearch. Ownership: buffers are kept between uses; cloned states live until end().
/// Threads: the cycle's. The snapshot and the cycle's own states stay as they are.
class WhatIfRows {
 public:
  explicit WhatIfRows(framework::Host& host) : host_(host), blocks_(host.snapshot) {}
  ~WhatIfRows() { end(); }
  WhatIfRows(const WhatIfRows&) = delete;
  WhatIfRows& operator=(const WhatIfRows&) = delete;

  /// Another search: nothing is known of which shapes concern whom. shapes: numbers below are those of the index.
  void begin_search(std::size_t shapes) {
    concerns_.assign(shapes, k_unknown_shape);
    for (auto& views : shape_views_) views.clear();
  }
  /// slots: at most k_max_block_rows, which stay where they are until end(). Requires: begin_search() in this cycle.
  void begin(framework::CycleContext& context, std::span<const cache::Slot> slots);
  void end() noexcept;

  /// Some filter reads a set that pods make up: ports that are taken, volumes.
  bool reads_lists() const noexcept { return reads_lists_; }

  /// Adds (+1) or takes away (-1) amounts of a row.
  void charge(std::uint32_t row, const Amounts& amounts, int sign) noexcept {
    for (const Change& change : changes_)
      change.values[row] += (change.negative != 0) == (sign > 0) ? -amounts[change.amount] : amounts[change.amount];
  }
  /// Adds one pod's amounts and takes away another's in one pass.
  void exchange(std::uint32_t row, const Amounts& in, const Amounts& out) noexcept {
    for (const Change& change : changes_) {
      const std::int64_t grown = in[change.amount] - out[change.amount];
      change.values[row] += change.negative != 0 ? -grown : grown;
    }
  }
  /// True when a pod means more to some filter than its amounts: it is to be told of by tell(), or charged by
  /// charge_rest().
  bool needs_model(const PodOnNode& pod) const noexcept {
    return (watches_pods_ && concerns_[pod.shape] != 0) || (pod.has_scalars && !scalar_changes_.empty());
  }
  /// False when no pod does. `has_scalars`: whether one of them requests more than its amounts.
  bool needs_models(bool has_scalars) const noexcept {
    return watches_pods_ || (has_scalars && !scalar_changes_.empty());
  }
  /// What charge() leaves out: scalar resources.
  void charge_rest(std::uint32_t row, const model::Pod& pod, int sign);
  /// Tells the filters that watch pods, those that the shape may concern. False when one of them failed: error(row)
  /// says how.
  /// `exemplar`: a pod of the shape, which outlives the search.
  bool tell(std::uint32_t row, const model::Pod& pod, const model::Pod& exemplar, std::uint32_t shape, bool added);

  /// Judges the rows that are set in `alive` and clears those that do not fit. `again`: the rows were judged before in
  /// this begin(), fitted then or would after what tell() took away, and only pods have come since: filters are asked
  /// about the rows where one may concern them. verdicts (by row): filled for rows that do not fit, when given. A filter
  /// that breaks rejects its row; error() says how.
  void judge(std::uint64_t* alive, bool again, std::span<framework::NodeVerdict> verdicts);
  /// Text of what broke on a row; empty for most.
  const std::string& error(std::uint32_t row) const;
  bool any_error() const noexcept { return !errors_.empty(); }

 private:
  struct Change {
    std::int64_t* values;
    std::uint32_t negative;  // 1: a pod makes it smaller
    std::uint32_t amount;
  };
  struct ScalarChange {
    std::int64_t* values;
    std::int64_t sign;
    cache::ResourceIndex resource;
  };
  struct Asked {
    const framework::PluginInstance* plugin;
    bool fixed;          // its verdict is the same whatever pods are on the node
    bool watches;        // has pod_added, pod_removed
    std::size_t number;  // watches: among those that do
    std::size_t states;  // watches: index of its first row in states_
  };
  // Of a shape: a bit for each filter that watches, 1 while its pods may concern it. The last bit stands for all filters
  // from the 31st on, which are told of everything.
  using Concern = std::uint32_t;
  static constexpr Concern k_unknown_shape = ~Concern{0};
  static constexpr std::size_t k_concern_bits = 31;
  static Concern bit_of(const Asked& asked) noexcept { return Concern{1} << std::min(asked.number, k_concern_bits); }
  /// How the plugin sees a pod: one view for all of a shape where it reads nothing else; else nothing.
  const berth_pod_v1* view_of_shape(const Asked& asked, const model::Pod& exemplar, std::uint32_t shape);
  void follow(cache::ColumnId id);
  void* state_of(const Asked& asked, std::uint32_t row) const noexcept;
  void judge_watching(const Asked& asked, bool again, std::uint64_t* alive, std::span<framework::NodeVerdict> verdicts);
  void judge_one_by_one(const Asked& asked, const std::uint64_t* rows, std::uint64_t* alive,
                        std::span<framework::NodeVerdict> verdicts);
  bool clone(const Asked& asked, std::uint32_t row);
  bool ask(const Asked& asked, const framework::Block& block, void* state, std::uint64_t* alive,
           std::span<framework::NodeVerdict> verdicts);
  void fail(std::uint32_t row, const framework::PluginInstance& plugin, std::string text,
            std::span<framework::NodeVerdict> verdicts);

  framework::Host& host_;
  framework::NodeBlocks blocks_;
  framework::CycleContext* context_ = nullptr;
  std::span<const cache::Slot> slots_;
  framework::Block block_;
  std::vector<Asked> asked_;
  std::vector<Change> changes_;
  std::vector<ScalarChange> scalar_changes_;
  std::vector<std::uint8_t> followed_;  // by column
  bool watches_pods_ = false, reads_lists_ = false;
  std::vector<void*> states_;                               // by watching filter, then row; null: the cycle's own
  std::vector<std::uint64_t> has_state_;                    // by watching filter, then row: it has one in states_
  std::vector<std::uint64_t> joined_;                       // likewise: a pod that concerns it has come since judge()
  std::vector<std::uint64_t> together_, passed_, singles_;  // of judge_watching(), by row
  std::vector<Concern> concerns_;                           // by shape
  std::vector<std::vector<const berth_pod_v1*>> shape_views_;  // by watching filter, then shape; null: not made yet
  std::map<std::uint32_t, std::string> errors_;
  framework::FilterScratch scratch_;
};

}  // namespace berth::preemption
