// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "base/bitmap.hpp"
#include "cycle/diagnosis.hpp"
#include "cycle/groups/domain_groups.hpp"
#include "cycle/ranking.hpp"
#include "framework/points/filter.hpp"
#include "framework/points/score.hpp"
#include "framework/view/node_blocks.hpp"

namespace berth::cycle {

/// What is known about one class of pods from earlier cycles: which nodes the reusable filters let through, and how the
/// reusable scorers rate them. Brought up to date by looking only at nodes that changed since.
///
/// Shapes:  pass_ is by slot; scores are by list position (index in Snapshot::order()); ranking_ is by list position
///          from the rotation start.
/// Cost:    per changed node O(log n). Totals of all nodes are made again only when the list is (nodes came or went,
///          another rotation start), or when an extreme that a normalisation depends on really moved.
/// Threads: the scheduling thread's. No lock, no lookup per node.
/// Failure: update calls answer with a sentence; the entry must then be dropped.
class ClassEntry {
 public:
  struct Buffers;  // shared by all entries of a cache

  /// Makes pass() right for the snapshot as it is. Returns false when a filter broke.
  bool update_filters(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers);
  const std::uint64_t* pass() const noexcept { return pass_.data(); }

  /// Why the last pod of the class fitted nowhere; null once a node has changed since. A queue of equal pods that all
  /// wait for room is told why at the price of one. Requires: update_filters() just before.
  const KeptDiagnosis* diagnosis() const noexcept { return diagnosis_ ? &*diagnosis_ : nullptr; }
  void keep(KeptDiagnosis diagnosis) { diagnosis_ = std::move(diagnosis); }

  /// Makes the feasible list right for a rotation start. Requires: update_filters() just before.
  void update_feasible(const cache::Snapshot& snapshot, std::size_t start, const Buffers& buffers);
  /// Slots that fit, in list order from the rotation start.
  std::span<const cache::Slot> feasible() const noexcept { return ranking_.slots(); }

  /// Makes totals and ranking right. Requires: pre-score ran over feasible(). Empty, or what failed.
  Status update_scores(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers);
  /// False where groups() stand in for the ranking.
  bool has_ranking() const noexcept { return !list_stale_; }
  /// The chosen node. Requires: update_scores() just before, feasible() not empty.
  BestNode best() { return {ranking_.slots()[ranking_.best()], ranking_.highest()}; }
  /// Adds the totals of the reusable scorers, parallel to feasible().
  void add_totals(const cache::Snapshot& snapshot, std::span<std::int64_t> totals) const;

  /// In place of update_feasible() and update_scores(), for pods whose policies speak of domains: scores and groups made right.
  /// Requires: update_filters() just before, pre-score ran. False: nodes have to be judged one by one.
  bool update_groups(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers,
                     const framework::DomainColumns& columns, std::size_t start);
  /// Which groups pass. Requires: update_groups() just before. False: a filter broke.
  bool judge_groups(framework::CycleContext& context, const framework::DomainColumns& columns);
  DomainGroups& groups() noexcept { return *groups_; }
  /// The winner of groups(). Requires: judge_groups() just before, some node is left. Absent: a scorer broke.
  std::optional<BestNode> best_of_groups(framework::CycleContext& context, const cache::Snapshot& snapshot,
                                         const framework::DomainColumns& columns);
  /// There were too many groups once: not tried again.
  bool has_too_many_groups() const noexcept { return too_many_groups_; }
  /// The most nodes that can be feasible. Requires: update_filters() just before.
  std::uint32_t passing() const noexcept { return passing_; }

  /// What it takes of the heap, what the allocator adds included.
  std::size_t bytes() const noexcept;

  // Which plugin's answers these are; for checks.
  /// Remembers each plugin's part from now on. What was kept without that is made again.
  void keep_parts();
  bool keeps_parts() const noexcept { return keeps_parts_; }
  /// Everything is made again at the next update, in the memory that is there.
  void forget() noexcept { known_ = false; }
  /// The filter that rejected the node; null: none did, or parts are not kept.
  const framework::PluginInstance* rejector(cache::Slot slot) const noexcept {
    return keeps_parts_ && !bitmap::test(pass_.data(), slot) ? rejectors_[slot] : nullptr;
  }
  /// The filter that all verdicts are from; null: there are several.
  const framework::PluginInstance* only_filter() const noexcept { return only_filter_; }
  /// Scorers without normalisation, plain_count() of them, then the others.
  std::size_t scorer_count() const noexcept { return plain_.size() + normalized_.size(); }
  std::size_t plain_count() const noexcept { return plain_.size(); }
  const framework::Scorer& scorer(std::size_t i) const noexcept {
    return i < plain_.size() ? *plain_[i] : *normalized_[i - plain_.size()].scorer;
  }
  /// What it gave the feasible node at that list position. Requires: keeps_parts(), or i >= plain_count().
  std::int64_t raw_score(std::size_t i, std::size_t position) const noexcept {
    return i < plain_.size() ? plain_parts_[i * base_.size() + position]
                             : normalized_[i - plain_.size()].raw_at(position);
  }
  /// The weighted sum of the scorers without normalisation.
  std::int64_t plain_sum(std::size_t position) const noexcept { return base_[position]; }

 private:
  static constexpr std::int32_t k_unscored = -1;
  /// Raw scores of one normalised scorer by list position, empty while all are 0, and their extremes over the feasible
  /// nodes with the number of nodes that have them: 0 when the last one left, and the next is not known yet.
  struct Normalized {
    const framework::Scorer* scorer = nullptr;
    std::vector<std::int64_t> raw;
    std::int64_t max = 0, min = 0;
    std::uint32_t at_max = 0, at_min = 0;
    bool counted = false;        // the four above are right
    framework::NormRange range;  // what the totals were made with

    std::int64_t raw_at(std::size_t position) const noexcept { return raw.empty() ? 0 : raw[position]; }
    void leave(std::int64_t score) noexcept;
    void enter(std::int64_t score) noexcept;
  };

  void collect_dirty(const cache::Snapshot& snapshot, Buffers& buffers);
  bool filter_all(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers);
  /// Narrows the rows of the block to those that the reusable filters let through.
  bool filter_rows(framework::CycleContext& context, framework::NodeBlocks& blocks, const framework::Block& block,
                   std::uint64_t* alive, Buffers& buffers);
  bool filter_dirty(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers);
  bool same_scorers(const framework::CycleContext& context) const;
  /// Brings base_ and raw scores up to date; b.slots are those that it rated. Empty, or what failed.
  Status score_changed(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers);
  void start_scoring(const framework::CycleContext& context, std::size_t positions);
  Status score_slots(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& buffers,
                     std::span<const cache::Slot> slots);
  /// The node no longer counts among those that have scores.
  void forget_scores(std::size_t position) noexcept;
  void put_raw(Normalized& n, std::size_t position, std::int64_t raw);
  /// Empty, or which plugin's scores leave their range.
  Status refresh_ranges(const cache::Snapshot& snapshot);
  std::int64_t total_at(std::size_t position) const noexcept;
  std::size_t turned(std::size_t position) const noexcept {  // from list position to position in ranking_
    return position >= start_ ? position - start_ : position + ranking_.positions() - start_;
  }

  bool known_ = false;
  std::uint64_t position_ = 0;  // of the journal: everything before is taken in
  std::uint64_t membership_ = 0;
  std::vector<std::uint8_t> skipped_;  // by filter: skipped when pass_ was made
  std::vector<std::uint64_t> pass_;
  std::uint32_t passing_ = 0;  // bits of pass_
  std::optional<KeptDiagnosis> diagnosis_;
  std::uint64_t journal_for_scores_ = 0;  // scores are right up to here
  bool scored_ = false;
  bool list_stale_ = true;    // ranking_ must be made from pass_
  bool totals_stale_ = true;  // all totals must be made again
  std::size_t start_ = 0;
  Ranking ranking_;
  std::unique_ptr<DomainGroups> groups_;
  bool too_many_groups_ = false;
  std::vector<DomainGroups::RowScores> row_scores_;  // of the pod at hand
  std::int64_t row_constant_ = 0;                    // what the others add to the total of every node
  std::vector<const framework::Scorer*> plain_;      // scorers without normalisation
  std::vector<Normalized> normalized_;
  std::vector<std::int32_t> base_;  // weighted sum of plain_, by list position; k_unscored where not feasible
  const framework::PluginInstance* only_filter_ = nullptr;
  bool keeps_parts_ = false;
  std::vector<const framework::PluginInstance*> rejectors_;  // by slot, right where pass_ is not set
  std::vector<std::int64_t> plain_parts_;                    // raw scores of plain_: scorer, then list position
};

struct ClassEntry::Buffers {
  std::vector<cache::Slot> dirty;    // distinct, since the entry's position
  std::vector<cache::Slot> flipped;  // of these: fit now and did not, or the other way round
  std::vector<std::uint32_t> stamp;  // by slot
  std::uint32_t stamp_now = 0;
  bool all_dirty = false;
  framework::FilterScratch filter;
  framework::FilterFailure failure;
  std::vector<const framework::PluginInstance*> filters;
  std::vector<std::uint64_t> bits, before;
  std::vector<cache::Slot> slots;
  AlignedVector<std::int64_t> raw;
  DomainSlotsCache domain_slots;
};

/// What a ClassCache may take: `most_bytes`, and less in a small cluster, where an entry is made quickly and pods with labels of
/// their own would fill any table.
struct ClassCacheBudget {
  std::size_t most_bytes = std::size_t{64} << 20, bytes_per_node = std::size_t{64} << 10;
};

/// Entries by class, least recently used first out. Bounded by bytes.
class ClassCache {
 public:
  explicit ClassCache(ClassCacheBudget budget);
  ~ClassCache();
  /// Finds or makes the entry; the reference is good until the next call.
  ClassEntry& entry(std::uint64_t pod_class);
  void drop(std::uint64_t pod_class);
  /// Forgets everything: some plugin's answers may have changed.
  void clear();
  /// Takes the entry's new size into account. node_count: of the cluster.
  void settle(std::uint64_t pod_class, std::size_t node_count);
  ClassEntry::Buffers& buffers() noexcept { return buffers_; }

  struct Counts {
    std::uint64_t hits = 0, misses = 0, evictions = 0;
  };
  const Counts& counts() const noexcept { return counts_; }
  /// What the entries take, as of their last settle().
  std::size_t bytes() const noexcept;

 private:
  struct Table;
  static constexpr std::size_t k_bytes_at_least = 4u << 20;
  const ClassCacheBudget budget_;
  std::unique_ptr<Table> table_;
  ClassEntry::Buffers buffers_;
  Counts counts_;
};

}  // namespace berth::cycle
