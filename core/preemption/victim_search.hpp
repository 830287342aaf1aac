// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/nominated_pods.hpp"
#include "preemption/disruption_budgets.hpp"
#include "preemption/victim_index.hpp"
#include "preemption/what_if_rows.hpp"

namespace berth::preemption {

/// A node on which evictions make room.
struct Candidate {
  cache::Slot slot = cache::k_no_slot;
  std::vector<cache::PodHandle> victims;  // most important first
  std::uint32_t violations = 0;
  std::array<std::uint64_t, BERTH_RANK_WORDS_MAX> rank{};
};

/// Lets others have a say about the nodes on which a preemption could happen: candidates may be dropped and their
/// victims changed. An error text ends the preemption.
using CandidateReview = std::function<std::string(const model::Pod& preemptor, std::vector<Candidate>& candidates)>;

/// Why a node and its victims were chosen, for people.
struct PreemptionReport {
  std::string node;
  struct Victim {
    std::string pod;  // namespace/name
    std::int32_t priority = 0;
  };
  std::vector<Victim> victims;   // most important first; without those that are terminating already
  std::uint32_t candidates = 0;  // nodes on which evictions would have made room
  std::uint32_t searched = 0;    // nodes that were searched
  std::uint32_t violations = 0;
  std::string decided_by;  // criterion that ruled runner_up out
  std::string runner_up;   // the next best node that was looked at to the end; may be empty

  /// "evicts team/a (priority 10) and team/b (priority 5) from node-1, without violating a disruption budget; the best
  /// of 12 nodes where that makes room; next best is node-7, behind by: fewest victims".
  std::string sentence() const;
};

/// The search for pods that have to go so that a pod fits: which nodes, which pods, and which of the nodes is the best.
///
/// Place:   behind the service berth.draft.preemption/0; one per plugin instance. Policy (importance, rank) is the
///          plugin's.
/// Result:  as upstream's over every node that is asked about: per node, all pods of lower priority leave, and if the
///          pod fits then, they come back one by one as long as it still fits; pods whose disruption budget is used up
///          first, the more important first. Nodes are worked off in blocks, one what-if row each. A node whose victims
///          so far already rank behind a finished node is given up: by the policy's promise that a further victim never
///          improves a rank, the choice is that of the exhaustive search.
///          Nodes where a pod would have to go that the attempt spares are no candidates.
/// Ties:    equal ranks: the node that stands earlier in list order.
/// Threads: the scheduling thread.
/// Source:  kubernetes v1.36 pkg/scheduler/framework/preemption/preemption.go,
///          pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
class VictimSearch {
 public:
  VictimSearch(framework::Host& host, DisruptionBudgets& budgets)
      : host_(host), budgets_(budgets), index_(host), rows_(host), alone_blocks_(host.snapshot) {}

  enum class Outcome : std::uint8_t { found, none, failed };
  Outcome run(framework::CycleContext& context, const berth_preemption_request_v0& request, void* self,
              const CandidateReview& review);

  bool found() const noexcept { return best_.has_value(); }
  const Candidate& best() const noexcept { return *best_; }
  std::uint32_t candidate_count() const noexcept { return found_; }
  /// none: "0/5 nodes are available: …". failed: what broke.
  const std::string& text() const noexcept { return text_; }
  /// Of the last run that found something. Names are looked up here, so: while the snapshot is the run's.
  PreemptionReport report() const;
  std::uint64_t cycle_id() const noexcept { return cycle_id_; }

 private:
  // Rows of a block: few enough for a handful of columns to stay in the first-level cache, many enough for a call to
  // pay. The first blocks are small: what they find rules out most of the others early.
  static constexpr std::size_t k_first_rows = 4, k_chunk_rows = 256;
  static constexpr std::uint32_t k_no_pod = UINT32_MAX;
  struct Row {
    std::uint32_t first = 0, span = 0;  // in the index: from the first pod that may go to the last
    std::uint32_t offset = 0;           // in evicted_ (span entries) and turns_ (count entries)
    std::uint32_t count = 0;            // pods that may go
    std::uint32_t protected_count = 0;  // the first ones of turns_ whose budget is used up
    std::uint32_t violations = 0, evicted = 0;
    std::uint32_t leaving = k_no_pod;  // evicted, but the columns still hold its amounts
    bool alone = false;                // judged by itself, through WhatIf
  };

  void collect_nodes(const berth_preemption_request_v0& request);
  void run_chunk(std::span<const cache::Slot> slots);
  void collect_victims(std::span<const cache::Slot> slots);
  void match_budgets();
  void order_turns(Row& row);
  /// Says why, for the first pod of a search.
  bool is_exempt(cache::PodHandle pod);
  bool evicts_exempt(const Row& row);
  bool may_go(std::uint32_t pod) const noexcept { return facts_[pod].priority < request_->below_priority; }
  /// Calls body(index of the pod) for each pod of the row that may go, most important first.
  template <typename Body>
  void each_victim(const Row& row, Body&& body) const {
    for (std::uint32_t p = row.first; p < row.first + row.span; ++p)
      if (row.span == row.count || may_go(p)) body(p);
  }
  void put_back(std::uint32_t r, Row& row, std::uint32_t victim);
  void take_out(std::uint32_t r, Row& row, std::uint32_t victim);
  void tell(std::uint32_t r, const PodOnNode& pod, int sign);
  void remove_all(std::uint32_t r, const Row& row);
  void take_back(std::span<const cache::Slot> slots);
  bool gives_up_early() const noexcept;
  void give_up_hopeless();
  void rank_rows(std::span<const std::uint32_t> rows);
  void finish(std::span<const cache::Slot> slots);
  void evict_all(const Row& row);
  void search_alone(Row& row, cache::Slot slot, bool& fits);
  framework::NodeVerdict judge_alone(const Row& row, cache::Slot slot, std::string& error);
  Candidate candidate_of(const Row& row, cache::Slot slot, const std::uint64_t* rank) const;
  bool sample_is_full() const noexcept;
  bool smaller(const std::uint64_t* a, const std::uint64_t* b) const noexcept;
  void choose();
  void rank_reviewed();
  void take(Candidate candidate);
  void explain_failure();

  framework::Host& host_;
  DisruptionBudgets& budgets_;
  VictimIndex index_;
  WhatIfRows rows_;
  framework::NodeBlocks alone_blocks_;

  // Of the current run.
  framework::CycleContext* context_ = nullptr;
  const berth_preemption_request_v0* request_ = nullptr;
  void* self_ = nullptr;
  bool keep_all_ = false;  // every candidate is wanted, not only the best
  std::uint64_t cycle_id_ = 0;
  std::vector<std::string> criteria_;  // of the policy, by word
  std::vector<cache::Slot> nodes_;     // where to look, in order
  std::vector<cache::Slot> without_victims_, without_room_;
  std::map<cache::Slot, std::string> broken_;
  std::optional<Candidate> best_;
  std::vector<Candidate> candidates_;  // keep_all_
  std::uint32_t found_ = 0, searched_ = 0, violating_ = 0;
  std::optional<Candidate> second_;  // of those that were finished, without its victims
  std::string exempt_;               // the pod that would have to go somewhere and is spared; empty: none
  std::string text_;

  // Of the current chunk; by row, or by victim.
  std::vector<Row> chunk_;
  std::vector<cache::Slot> chunk_slots_;
  const PodOnNode* pods_ = nullptr;  // of the index
  const berth_victim_v0* facts_ = nullptr;
  std::vector<std::uint8_t> evicted_;
  std::vector<std::uint32_t> turns_;  // order of coming back, as distance from Row::first
  std::vector<std::uint64_t> alive_, trial_;
  std::vector<std::uint32_t> changed_;
  bool gave_up_ = false;
  std::uint32_t quiet_chunks_ = 0;  // in a row in which giving up early found nothing to give up
  std::vector<berth_victims_v0> to_rank_;
  std::vector<std::uint64_t> ranks_;

  // Budgets by label class, made when budgets or classes change.
  std::vector<std::vector<std::uint32_t>> budgets_of_class_;
  std::uint64_t budgets_numbering_ = 0;  // of index_, when those were found
  bool any_budget_ = false;
  std::vector<std::int64_t> allowed_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace berth::preemption
