// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text_hash.hpp"
#include "cache/snapshot.hpp"
#include "cycle/groups/group_ranking.hpp"
#include "cycle/node_choice.hpp"
#include "framework/points/domains.hpp"
#include "framework/points/score.hpp"

namespace berth::cycle {

/// Which slots each domain of a table has. Shared by all classes of pods that use the table.
struct DomainSlots {
  std::vector<std::uint32_t> first;  // by domain: where its slots begin; one more at the end
  std::vector<cache::Slot> slots;

  std::span<const cache::Slot> of(std::uint32_t domain) const noexcept {
    return {slots.data() + first[domain], slots.data() + first[domain + 1]};
  }
};

/// Finds the slots of a table's domains; keeps what is in use and a few more.
/// Threads: the scheduling thread's.
class DomainSlotsCache {
 public:
  std::shared_ptr<const DomainSlots> get(const framework::PluginInstance& plugin, const berth_domain_column_v1& column,
                                         const cache::Snapshot& snapshot);

 private:
  static constexpr std::size_t k_tables_max = 16;
  struct Known {
    const framework::PluginInstance* plugin = nullptr;
    std::uint64_t table = 0, used = 0;
    std::shared_ptr<const DomainSlots> slots;
  };
  std::vector<Known> known_;
  std::uint64_t clock_ = 0;
};

/// The nodes that pass the filters which look at one node alone, of a class of pods, in groups that policies which look at
/// other nodes judge alike: nodes of a group have the same in every column that a policy named, and the same raw score from each
/// scorer that is normalised.
///
/// Cost:    update(): O(log n) per node that changed or whose value of a column did; all of them when columns are others.
///          The rest by group.
/// Threads: the scheduling thread's.
class DomainGroups {
 public:
  /// One scorer that is normalised and looks at one node alone.
  struct RowScores {
    const framework::Scorer* scorer = nullptr;
    const std::int64_t* raw = nullptr;  // by list position
  };
  struct Nodes {
    const cache::Snapshot& snapshot;
    std::size_t start;                     // rotation: list position of the first
    const std::uint64_t* pass;             // by slot
    const std::int32_t* totals;            // by list position: of scorers that are not normalised
    std::span<const cache::Slot> changed;  // since the last update
    bool all_changed;
  };
  /// False: there are too many groups.
  bool update(const Nodes& nodes, const framework::DomainColumns& columns, std::span<const RowScores> rows,
              DomainSlotsCache& slots);
  /// Next time from scratch.
  void forget() noexcept { known_ = false; }

  /// Which groups pass. Requires: update() just before. False: a filter broke.
  bool judge(framework::CycleContext& context, const framework::DomainColumns& columns);
  /// Nodes in groups that pass.
  std::uint32_t feasible() const noexcept { return feasible_; }
  /// Whether anything that verdicts follow from has moved since the last call, apart from nodes' own rows.
  bool take_moved() noexcept { return std::exchange(moved_, false); }
  /// The only node. Requires: feasible() == 1.
  cache::Slot only(const cache::Snapshot& snapshot);
  /// The node that wins; absent: a scorer broke, or left its range. Requires: judge() just before, feasible() != 0.
  std::optional<BestNode> best(framework::CycleContext& context, const framework::DomainColumns& columns,
                               std::span<const RowScores> rows, const cache::Snapshot& snapshot);

  std::size_t bytes() const noexcept;

 private:
  struct Column {
    const framework::PluginInstance* plugin = nullptr;
    berth_domain_column_v1 raw{};
    bool told_apart = false;
    std::uint64_t seen = 0;  // changes up to here are taken in
    std::shared_ptr<const DomainSlots> slots;
  };
  struct Part {  // of a group's key
    std::uint32_t domain = 0;
    std::int64_t value = 0;  // 0 where domains are told apart
    friend bool operator==(const Part&, const Part&) = default;
  };

  bool same_columns(const framework::DomainColumns& columns, std::span<const RowScores> rows) const;
  bool rebuild(const Nodes& nodes, const framework::DomainColumns& columns, std::span<const RowScores> rows,
               DomainSlotsCache& slots);
  bool place(const Nodes& nodes, std::span<const RowScores> rows, cache::Slot slot);
  /// The group of key_; absent: there are too many.
  std::optional<GroupRanking::Group> group_for();
  std::optional<GroupRanking::Group> spare_group();
  /// Shows groups to plugins, in that order.
  void show(std::span<const GroupRanking::Group> groups);
  /// Adds weight * score of scores_, by open group; false: one leaves its range.
  bool add_scores(const framework::Scorer& scorer, std::uint32_t kind);
  void list_candidates(bool with_sums);
  std::size_t turned(std::size_t position) const noexcept {
    return position >= start_ ? position - start_ : position + ranking_.positions() - start_;
  }
  cache::Slot slot_at(const cache::Snapshot& snapshot, std::size_t position) const noexcept {
    const std::size_t at = position + start_;
    return snapshot.order()[at < ranking_.positions() ? at : at - ranking_.positions()];
  }
  const Part& part(std::size_t group, std::size_t i) const noexcept { return parts_[group * width_ + i]; }

  bool known_ = false, moved_ = true;
  std::size_t start_ = 0;
  std::uint64_t membership_ = 0;
  std::vector<Column> columns_;
  std::vector<const framework::Scorer*> row_scorers_;
  std::size_t width_ = 0;                   // parts of a key: columns, then row scorers
  std::vector<Part> parts_;                 // by group
  std::size_t groups_ = 0;                  // numbers given out so far
  std::vector<GroupRanking::Group> spare_;  // of these: free
  static constexpr std::size_t k_first_sweep = 32;
  std::size_t next_sweep_ = k_first_sweep;  // so many numbers: look for groups that have become empty first
  std::vector<Part> key_;                   // of the node at hand
  boost::unordered_flat_map<std::string, GroupRanking::Group, TextHash> by_key_;
  std::string key_bytes_;
  GroupRanking::Group last_ = GroupRanking::k_no_group;
  GroupRanking ranking_;

  // Of the pod at hand.
  std::uint32_t feasible_ = 0;
  std::vector<GroupRanking::Group> open_;
  framework::GroupColumns view_;
  std::vector<std::uint64_t> pass_, passed_;
  std::vector<std::int64_t> scores_;
  std::vector<std::int64_t> sums_;
  std::vector<GroupRanking::Part> candidates_;
};

}  // namespace berth::cycle
