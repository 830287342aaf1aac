// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"
#include "framework/view/node_blocks.hpp"

namespace berth::framework {

/// Why one node was rejected: the first plugin that objected.
struct NodeVerdict {
  Code code = Code::success;               // success: passed
  const PluginInstance* plugin = nullptr;  // null while it passes
  berth_reason reason = 0;
};

/// A filter that broke: the pod's attempt ends with this.
struct FilterFailure {
  const PluginInstance* plugin = nullptr;
  std::string text;  // complete sentence: `running "X" filter plugin: …`
};

/// A row that a filter could not judge.
struct RowFailure {
  const PluginInstance* plugin = nullptr;
  std::uint32_t row = 0;
  std::string text;  // complete sentence
};

/// What a filter says about a node that it rejects, beyond its reason, for people who ask.
struct NodeDetail {
  cache::Slot slot = 0;
  const PluginInstance* plugin = nullptr;
  std::string text;
  std::uint64_t count = 0;  // of so many things of the node
};
inline constexpr std::size_t k_details_max = 100'000;  // of one explanation; what comes later is left out

/// Buffers of one filter pass, kept between cycles.
struct FilterScratch {
  std::vector<std::uint64_t> pass, unresolvable;
  std::vector<berth_reason> reasons;
  std::vector<RowFailure> errors;  // of the last run_filters()
};

/// Runs filters over a block, narrowing `alive` (rows of the block): quick, without reasons.
/// False when a filter broke; alive then says which rows had reached it. Rows that a filter could not judge are not alive any
/// more, and stand in scratch.errors.
bool run_filters(CycleContext& context, NodeBlocks& blocks, const Block& block,
                 std::span<const PluginInstance* const> filters, std::uint64_t* alive, FilterScratch& scratch,
                 FilterFailure& failure);

/// The same with reasons: verdicts[row] of every row that was alive on entry is written. A filter that breaks gives its
/// rows an Error verdict with a composed reason; the other rows go on. `details`, when given, gets what filters say about
/// rows that they reject.
void explain_filters(CycleContext& context, NodeBlocks& blocks, const Block& block,
                     std::span<const PluginInstance* const> filters, std::uint64_t* alive, FilterScratch& scratch,
                     std::span<NodeVerdict> verdicts, std::vector<NodeDetail>* details = nullptr);

/// The same over one imagined row with states of its own (by position in `filters`; null: the instance's own state).
/// success, or the first objection.
NodeVerdict judge_what_if(CycleContext& context, NodeBlocks& blocks, cache::Slot slot, const cache::NodeRow& row,
                          std::span<const PluginInstance* const> filters, std::span<void* const> states);

}  // namespace berth::framework
