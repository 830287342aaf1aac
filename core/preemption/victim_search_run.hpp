// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>

#include "preemption/victim_search.hpp"

/// Private to core/preemption.
namespace berth::preemption {

/// One search for victims, from the request to the choice. Borrows the memory of the VictimSearch while it lives.
class VictimSearchRun : private VictimSearch::Buffers {
 public:
  VictimSearchRun(VictimSearch& search, framework::CycleContext& context, const berth_preemption_request_v1& request,
                  void* self, const CandidateReview& review, const framework::PodFields& shown);
  ~VictimSearchRun() { search_.buffers_ = std::move(static_cast<Buffers&>(*this)); }
  VictimSearchRun(const VictimSearchRun&) = delete;
  VictimSearchRun& operator=(const VictimSearchRun&) = delete;

  VictimChoice choose();

 private:
  using Row = VictimSearch::Row;
  using Buffers = VictimSearch::Buffers;
  using Outcome = VictimChoice::Outcome;
  static constexpr std::uint32_t k_no_pod = VictimSearch::k_no_pod;
  // Rows of a block: few enough for a handful of columns to stay in the first-level cache, many enough for a call to
  // pay. The first blocks are small: what they find rules out most of the others early.
  static constexpr std::size_t k_first_rows = 4, k_chunk_rows = 256;

  Outcome decide();
  void collect_nodes();
  void search(std::span<const cache::Slot> nodes);
  /// The question that a search asks, where the answers of nodes can be kept.
  std::optional<KeptAnswers::Question> question_to_keep() const;
  /// The search by answers that are kept. False: all nodes have to be searched.
  bool search_kept();
  void check_kept(KeptAnswers& kept);
  /// The one filter that takes part; null: there are several.
  const framework::PluginInstance* only_filter() const noexcept;
  std::string text_of(const KeptAnswers& answers, cache::Slot slot) const;
  /// rejector: the filter that says so, where it is known.
  void no_room(cache::Slot slot, const framework::PluginInstance* rejector);
  bool wants_rejectors() const noexcept { return keeping_ != nullptr && keeping_->keeps_rejectors(); }
  /// How many collect_nodes() would find.
  std::uint32_t count_nodes() const noexcept;
  void run_chunk(std::span<const cache::Slot> slots);
  void collect_victims(std::span<const cache::Slot> slots);
  void match_budgets();
  void order_turns(Row& row);
  /// Says why, for the first pod of a search.
  bool is_exempt(cache::PodHandle pod);
  bool evicts_exempt(const Row& row);
  bool lets_go(std::uint32_t pod, cache::Slot slot);
  /// Requires: lets_go() was asked about it.
  bool may_go(std::uint32_t pod) const noexcept {
    return facts_[pod].priority < request_.below_priority && (pod >= stays_.size() || stays_[pod] == 0);
  }
  /// Calls body(index of the pod) for each pod of the row that may go, most important first.
  template <typename Body>
  void each_victim(const Row& row, Body&& body) const {
    for (std::uint32_t p = row.first; p < row.first + row.span; ++p)
      if (row.span == row.count || may_go(p)) body(p);
  }
  void put_back(std::uint32_t r, Row& row, std::uint32_t victim);
  void take_out(std::uint32_t r, Row& row, std::uint32_t victim);
  void tell(std::uint32_t r, const PodOnNode& pod, int sign);
  Row row_of(cache::Slot slot);
  void remove_all(std::uint32_t r, const Row& row);
  void take_back(std::span<const cache::Slot> slots);
  bool gives_up_early() const noexcept;
  void give_up_hopeless();
  void rank_rows(std::span<const std::uint32_t> rows);
  void finish(std::span<const cache::Slot> slots);
  void evict_all(const Row& row);
  void search_alone(Row& row, cache::Slot slot, bool& fits);
  Result<framework::NodeVerdict> judge_alone(const Row& row, cache::Slot slot);
  Candidate candidate_of(const Row& row, cache::Slot slot, const std::uint64_t* rank) const;
  bool sample_is_full() const noexcept;
  bool smaller(const std::uint64_t* a, const std::uint64_t* b) const noexcept;
  void choose_of_all();
  void rank_reviewed();
  void take(Candidate candidate);
  /// Judges the nodes without room once more, for the reasons of each.
  std::string why_none();

  VictimSearch& search_;
  framework::Host& host_;
  DisruptionBudgets& budgets_;
  VictimIndex& index_;
  WhatIfRows& rows_;
  framework::NodeBlocks& alone_blocks_;
  VictimSearch::BudgetsOfShapes& of_shapes_;
  framework::CycleContext& context_;
  const berth_preemption_request_v1& request_;
  void* const self_;
  const CandidateReview& review_;
  const bool keep_all_;                // every candidate is wanted, not only the best
  KeptAnswers* keeping_ = nullptr;     // gets the answers of the nodes that are searched; null: the choice does
  const framework::PodFields& shown_;  // of pods that the policy is asked about
  bool any_budget_ = false;

  VictimChoice choice_;
  std::map<cache::Slot, std::string> broken_;
  std::vector<Candidate> candidates_;  // keep_all_
  std::uint32_t violating_ = 0;        // of choice_.candidates
  std::uint32_t node_count_ = 0;       // that are searched
  std::uint32_t without_victims_ = 0;  // of these: no pod on them may go
  std::vector<std::uint8_t> stays_;    // by index of the pod: 1 where the policy's may_go said so; short: none did
  framework::Arena view_arena_;
  std::string exempt_;  // the pod that would have to go somewhere and is exempt; empty: none

  // Of the current block of nodes.
  const PodOnNode* pods_ = nullptr;  // of the index
  const berth_victim_v1* facts_ = nullptr;
  bool gave_up_ = false;
  std::uint32_t quiet_chunks_ = 0;  // in a row in which giving up early found nothing to give up
};

}  // namespace berth::preemption
