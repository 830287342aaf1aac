// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "framework/cycle_context.hpp"
#include "preemption/disruption_budgets.hpp"
#include "preemption/kept_answers.hpp"
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
/// victims changed. A failure ends the preemption.
using CandidateReview =
    std::function<Status(framework::Host& host, const model::Pod& preemptor, std::vector<Candidate>& candidates)>;

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

/// What a search found.
struct VictimChoice {
  enum class Outcome : std::uint8_t { found, none, failed };
  Outcome outcome = Outcome::none;
  std::optional<Candidate> best = {};      // found
  std::optional<Candidate> second = {};    // of those that were searched to the end
  std::uint32_t candidates = 0;            // nodes on which evictions would make room
  std::uint32_t searched = 0;              // nodes that were looked at
  std::string text = {};                   // none: "0/5 nodes are available: …". failed: what broke
  std::vector<std::string> criteria = {};  // of the policy, by word of a rank; with an outcome of `found`
  std::uint64_t cycle_id = 0;

  /// Requires: found. Names are looked up here, so: while the snapshot is the search's.
  PreemptionReport report(const framework::Host& host) const;
};

/// The search for pods that have to go so that a pod fits: which nodes, which pods, and which of the nodes is the best.
/// What it keeps between searches is the index of pods and memory; a search is an object of its own.
///
/// Place:   behind the service berth.preemption/1; one per plugin instance. Policy (importance, rank) is the
///          plugin's.
/// Result:  as upstream's over every node that is asked about: per node, all pods of lower priority leave, and if the
///          pod fits then, they come back one by one as long as it still fits; pods whose disruption budget is used up
///          first, the more important first. Nodes are worked off in blocks, one what-if row each. A node whose victims
///          so far already rank behind a finished node is given up: by the policy's promise that a further victim never
///          improves a rank, the choice is that of the exhaustive search.
///          A node is no candidate when one of its victims would be a pod that the attempt may not evict.
/// Kept:    where all filters that take part judge a node by itself, pods of a class ask a node again only when it has
///          changed, and the others' answers stand (KeptAnswers). The choice is the same; the second best may be another,
///          because no node was given up. A node that says otherwise when its turn comes ends that for the question.
/// Ties:    equal ranks: the node that stands earlier in list order.
/// Threads: the scheduling thread.
/// Source:  kubernetes v1.36 pkg/scheduler/framework/preemption/preemption.go,
///          pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
class VictimSearch {
 public:
  /// reuse: of answers of nodes, from one search to the next.
  VictimSearch(framework::Host& host, DisruptionBudgets& budgets, AnswerReuse reuse = AnswerReuse::on)
      : host_(host),
        budgets_(budgets),
        reuse_(reuse),
        kept_(reuse == AnswerReuse::verify),
        index_(host),
        rows_(host),
        alone_blocks_(host.snapshot) {}

  /// `review` may be empty. The result stays until the next run.
  const VictimChoice& run(framework::CycleContext& context, const berth_preemption_request_v1& request, void* self,
                          const CandidateReview& review, const framework::PodFields& shown = {});
  /// Of the last run.
  const VictimChoice& last() const noexcept { return last_; }
  struct KeptCounts {
    std::uint64_t searches = 0;  // that were answered by what was kept
    std::uint64_t asked = 0;     // nodes that had to be asked in them
    std::uint64_t refuted = 0;   // of these: what was kept was not what the node says now
    std::uint64_t changed = 0;   // kept answers that a fresh one did not confirm, under AnswerReuse::verify
  };
  const KeptCounts& kept_counts() const noexcept { return kept_counts_; }
  /// Of the last run, under AnswerReuse::verify: the first kept answers that were not confirmed.
  const std::vector<ChangedAnswer>& changed_answers() const noexcept { return changed_answers_; }
  static constexpr std::size_t k_changed_answers_max = 16;

 private:
  friend class VictimSearchRun;
  static constexpr std::uint32_t k_no_pod = UINT32_MAX;
  struct Row {
    std::uint32_t first = 0, span = 0;  // in the index: from the first pod that may go to the last
    std::uint32_t offset = 0;           // in evicted_ (span entries) and turns_ (count entries)
    std::uint32_t count = 0;            // pods that may go
    std::uint32_t protected_count = 0;  // the first ones of turns_ whose budget is used up
    std::uint32_t violations = 0, evicted = 0;
    std::uint32_t leaving = k_no_pod;  // evicted, but the columns still hold its amounts
    bool alone = false;                // judged by itself, through WhatIf
    bool is_whole = false;             // every pod of the node may go
  };
  /// Memory that one run leaves to the next.
  struct Buffers {
    std::vector<cache::Slot> nodes_;  // where to look, in order
    std::vector<cache::Slot> without_room_;
    std::vector<cache::Slot> asked_;  // of nodes_, those that have no answer that is kept
    // Of the current block of nodes; by row, or by victim.
    std::vector<Row> chunk_;
    std::vector<cache::Slot> chunk_slots_;
    std::vector<std::uint8_t> evicted_;
    std::vector<std::uint32_t> turns_;  // order of coming back, as distance from Row::first
    std::vector<std::uint64_t> alive_, trial_;
    std::vector<framework::NodeVerdict> verdicts_;  // why rows do not fit, where that is kept
    std::vector<std::uint32_t> changed_;
    std::vector<berth_victims_v1> to_rank_;
    std::vector<std::uint64_t> ranks_;
    std::vector<std::int64_t> allowed_;  // by budget
    std::vector<std::uint32_t> touched_;
  };
  /// Budgets by shape of the index, made when budgets or shapes change.
  struct BudgetsOfShapes {
    std::vector<std::vector<std::uint32_t>> budgets;
    std::uint64_t numbering = 0;        // of the index, when those were found
    std::uint64_t budgets_version = 0;  // likewise
  };

  framework::Host& host_;
  DisruptionBudgets& budgets_;
  const AnswerReuse reuse_;
  KeptAnswersTable kept_;
  KeptCounts kept_counts_;
  std::vector<ChangedAnswer> changed_answers_;
  VictimIndex index_;
  WhatIfRows rows_;
  framework::NodeBlocks alone_blocks_;
  BudgetsOfShapes of_shapes_;
  Buffers buffers_;
  VictimChoice last_;
};

}  // namespace berth::preemption
