// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cycle/diagnosis.hpp"
#include "framework/cycle_context.hpp"
#include "framework/points/filter.hpp"
#include "framework/profile_runtime.hpp"
#include "framework/view/candidate_nodes.hpp"
#include "framework/view/node_blocks.hpp"

namespace berth::cycle {

/// Equal or higher priority than the incoming pod, another uid.
using Nominated = framework::NominatedPods;

/// What filtering found, in the order in which upstream with one worker would have found it.
struct FilterFindings {
  std::vector<cache::Slot> feasible;          // list order from the rotation start, at most `wanted`
  std::uint32_t rejected = 0;                 // nodes that were rejected before the search stopped
  std::vector<std::uint64_t> rejected_nodes;  // by slot: the same nodes
  std::string error;                          // not empty: a filter broke on a node that the search reached

  /// Nothing yet, of a snapshot with bitmaps of so many words.
  void begin(std::size_t words);
  /// The only nodes that are rejected are these: what follows clears no more than them.
  void reject_few(std::span<const cache::Slot> nodes);

 private:
  std::optional<std::vector<cache::Slot>> few_rejected_;  // absent: rejected_nodes may have any bits
};

/// Runs the filter chain of a profile over the snapshot.
///
/// Every candidate is judged, block by block, in slot order; then the list order is walked from the rotation start
/// until wanted + 1 nodes fit, as upstream's search ends. Same feasible set, same number of judged nodes, without a
/// decision per node. Nodes with nominated pods are judged one by one, with and without them.
/// Source: kubernetes v1.36 pkg/scheduler/schedule_one.go (findNodesThatPassFilters), one worker.
class FilterPass {
 public:
  /// explains_all: diagnose() asks every filter about a node, not only those up to the first that turns it away.
  FilterPass(cache::Snapshot& snapshot, framework::NodeBlocks& blocks, bool explains_all = false)
      : snapshot_(snapshot), blocks_(blocks), explains_all_(explains_all) {}

  void run(framework::CycleContext& context, const framework::CandidateNodes& candidates, const Nominated& nominated,
           std::int64_t wanted, std::size_t start, FilterFindings& out);

  /// Verdicts with reasons for every candidate, added to the diagnosis; errors are counted like rejections.
  /// verdicts (by slot) is overwritten for candidates when given. details, when given, gets what the filters that reject
  /// a node say beyond that.
  void diagnose(framework::CycleContext& context, const std::uint64_t* candidates, const Nominated& nominated,
                Diagnosis& out, std::vector<framework::NodeVerdict>* verdicts,
                std::vector<framework::NodeDetail>* details = nullptr);

  /// One node with its nominated pods: the rule of two passes.
  framework::NodeVerdict judge_nominated(framework::CycleContext& context, cache::Slot slot,
                                         const std::vector<model::PodPtr>& nominated);

 private:
  using Filters = std::vector<const framework::PluginInstance*>;
  struct Failed {
    cache::Slot first, end;
    framework::FilterFailure failure;
  };
  /// Few nodes take part and none ends the search early: they are judged together. False: some filter broke; nothing is found.
  bool run_few(framework::CycleContext& context, std::span<const cache::Slot> candidates, std::size_t start,
               FilterFindings& out);
  /// Every node takes part and none ends the search early.
  void take_all(std::span<const cache::Slot> order, std::size_t begin, FilterFindings& out);
  void judge_blocks(framework::CycleContext& context, const std::uint64_t* candidates);
  /// A filter broke on some row of the block: which rows it breaks on is found one by one. `word` is the block's first.
  void judge_rows(framework::CycleContext& context, const framework::Block& block, std::size_t word);
  /// Likewise for verdicts with reasons. candidates: of the block.
  void explain_rows(framework::CycleContext& context, const framework::Block& block, const std::uint64_t* candidates,
                    std::vector<framework::NodeDetail>* details);
  /// Rows that some filter could not judge: `first` is the slot of the block's row 0.
  void note_failures(cache::Slot first);

  /// One node as it would be with those pods on it.
  framework::NodeVerdict judge_with(framework::CycleContext& context, cache::Slot slot, const Filters& filters,
                                    const std::vector<model::PodPtr>& others);

  /// What the filters behind the first one say about nodes that have their verdict.
  void add_further_reasons(framework::CycleContext& context, const std::uint64_t* candidates,
                           const Nominated& nominated, Diagnosis& out);
  /// The same about a node with nominated pods: in the one of its two passes that rejected it.
  void add_further_of_nominated(framework::CycleContext& context, cache::Slot slot,
                                const std::vector<model::PodPtr>& nominated, Diagnosis& out);

  cache::Snapshot& snapshot_;
  framework::NodeBlocks& blocks_;
  const bool explains_all_;
  framework::FilterScratch scratch_;
  std::vector<std::uint64_t> alive_, failed_bits_;
  std::vector<Failed> failed_;
  Filters filters_;
  std::vector<cache::Slot> few_, few_rejected_;
  std::vector<framework::NodeVerdict> verdicts_;
};

}  // namespace berth::cycle
