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

/// Buffers of one filter pass, kept between cycles.
struct FilterScratch {
  std::vector<std::uint64_t> pass, unresolvable;
  std::vector<berth_reason> reasons;
};

/// Runs filters over a block, narrowing `alive` (rows of the block): quick, without reasons.
/// False when a filter broke; alive then says which rows had reached it.
bool run_filters(CycleContext& context, NodeBlocks& blocks, const Block& block,
                 std::span<const PluginInstance* const> filters, std::uint64_t* alive, FilterScratch& scratch,
                 FilterFailure& failure);

/// The same with reasons: verdicts[row] of every row that was alive on entry is written. A filter that breaks gives its
/// rows an Error verdict with a composed reason; the other rows go on.
void explain_filters(CycleContext& context, NodeBlocks& blocks, const Block& block,
                     std::span<const PluginInstance* const> filters, std::uint64_t* alive, FilterScratch& scratch,
                     std::span<NodeVerdict> verdicts);

/// The same over one imagined row with states of its own (by position in `filters`; null: the instance's own state).
/// success, or the first objection.
NodeVerdict judge_what_if(CycleContext& context, NodeBlocks& blocks, cache::Slot slot, const cache::NodeRow& row,
                          std::span<const PluginInstance* const> filters, std::span<void* const> states);

}  // namespace berth::framework
