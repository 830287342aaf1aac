// SPDX-License-Identifier: Apache-2.0
#include "framework/points/filter.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/points/filter_call.hpp"

namespace berth::framework {
namespace {

void reserve(FilterScratch& scratch, std::uint32_t rows) {
  const std::size_t words = (rows + 63) / 64;
  if (scratch.pass.size() < words) {
    scratch.pass.resize(words);
    scratch.unresolvable.resize(words);
  }
  if (scratch.reasons.size() < words * 64) scratch.reasons.resize(words * 64);
}

}  // namespace

bool run_filters(CycleContext& context, NodeBlocks& blocks, const Block& block,
                 std::span<const PluginInstance* const> filters, std::uint64_t* alive, FilterScratch& scratch,
                 FilterFailure& failure) {
  reserve(scratch, block.rows);
  const std::size_t words = block.words();
  observe::enter_block(block.slot(0), block.slot(0) + block.rows);
  Note note;
  scratch.errors.clear();
  for (const PluginInstance* plugin : filters) {
    if (context.skips_filter(*plugin)) continue;
    std::copy_n(alive, words, scratch.pass.data());
    std::fill_n(scratch.unresolvable.data(), words, 0);
    FilterCall call(context, *plugin, scratch.pass.data(), scratch.unresolvable.data(), nullptr);
    const Code code = call.run(context.abi(*plugin), blocks.bind(block, *plugin, &context, alive), note);
    if (code != Code::success) {
      failure = {plugin, call.failure_text(code, note)};
      observe::leave_block();
      return false;
    }
    for (FilterCall::RowError& error : call.errors())
      scratch.errors.push_back({plugin, error.row, std::move(error.text)});
    std::uint64_t left = 0;
    for (std::size_t w = 0; w < words; ++w) left |= (alive[w] &= scratch.pass[w]);
    if (left == 0) break;
  }
  observe::leave_block();
  return true;
}

void explain_filters(CycleContext& context, NodeBlocks& blocks, const Block& block,
                     std::span<const PluginInstance* const> filters, std::uint64_t* alive, FilterScratch& scratch,
                     std::span<NodeVerdict> verdicts, std::vector<NodeDetail>* details) {
  reserve(scratch, block.rows);
  const std::size_t words = block.words();
  observe::enter_block(block.slot(0), block.slot(0) + block.rows);
  for (const PluginInstance* plugin : filters) {
    if (context.skips_filter(*plugin)) continue;
    if (!bitmap::any(alive, words)) break;
    std::copy_n(alive, words, scratch.pass.data());
    std::fill_n(scratch.unresolvable.data(), words, 0);
    std::fill_n(scratch.reasons.data(), words * 64, 0);
    FilterCall call(context, *plugin, scratch.pass.data(), scratch.unresolvable.data(), scratch.reasons.data());
    berth_cycle_v1* const cycle = context.abi(*plugin);
    const std::uint32_t asked = BERTH_CYCLE_WANT_REASONS | (details != nullptr ? BERTH_CYCLE_WANT_DETAILS : 0);
    cycle->flags |= asked;
    Note note;
    const Code code = call.run(cycle, blocks.bind(block, *plugin, &context, alive), note);
    cycle->flags &= ~asked;
    if (details != nullptr)
      for (FilterCall::RowDetail& detail : call.details())
        if (details->size() < k_details_max)
          details->push_back({block.slot(detail.row), plugin, std::move(detail.text), detail.count});
    if (code != Code::success) {
      const berth_reason reason = plugin->host().reasons.make({call.failure_text(code, note)});
      bitmap::for_each(alive, words, [&](std::size_t row) { verdicts[row] = {Code::error, plugin, reason}; });
      std::fill_n(alive, words, 0);
      break;
    }
    for (const FilterCall::RowError& error : call.errors()) {
      verdicts[error.row] = {Code::error, plugin, plugin->host().reasons.make({error.text})};
      bitmap::clear(alive, error.row);
    }
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t rejected = alive[w] & ~scratch.pass[w]; rejected != 0; rejected &= rejected - 1) {
        const std::size_t row = w * 64 + static_cast<std::size_t>(std::countr_zero(rejected));
        verdicts[row] = {call.rejection(static_cast<std::uint32_t>(row)), plugin, scratch.reasons[row]};
      }
      alive[w] &= scratch.pass[w];
    }
  }
  observe::leave_block();
}

NodeVerdict judge_what_if(CycleContext& context, NodeBlocks& blocks, cache::Slot slot, const cache::NodeRow& row,
                          std::span<const PluginInstance* const> filters, std::span<void* const> states) {
  const Block block = blocks.what_if(slot, row);
  observe::enter_block(slot, slot + 1);
  NodeVerdict verdict;
  for (std::size_t i = 0; i < filters.size() && verdict.code == Code::success; ++i) {
    const PluginInstance& plugin = *filters[i];
    if (context.skips_filter(plugin)) continue;
    const std::uint64_t candidates = 1;
    std::uint64_t pass = 1, unresolvable = 0;
    berth_reason reasons[64] = {};
    FilterCall call(context, plugin, &pass, &unresolvable, reasons);
    void* const state = states[i] != nullptr ? states[i] : context.abi(plugin)->state;
    InstanceCycle cycle = context.what_if(plugin, state, BERTH_CYCLE_WANT_REASONS);
    Note note;
    const Code code = call.run(&cycle.abi, blocks.bind(block, plugin, &context, &candidates), note);
    if (code != Code::success)
      verdict = {Code::error, &plugin, plugin.host().reasons.make({call.failure_text(code, note)})};
    else if (!call.errors().empty())
      verdict = {Code::error, &plugin, plugin.host().reasons.make({call.errors().front().text})};
    else if ((pass & 1) == 0)
      verdict = {call.rejection(0), &plugin, reasons[0]};
  }
  observe::leave_block();
  return verdict;
}

}  // namespace berth::framework
