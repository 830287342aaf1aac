// SPDX-License-Identifier: Apache-2.0
#include "cycle/filter_pass.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/points/filter_call.hpp"
#include "preemption/what_if.hpp"

namespace berth::cycle {
namespace {

using framework::Block;
using framework::Code;
using framework::k_block_rows;
constexpr std::size_t k_failure_texts_max = 1024;

/// Calls body(block, first word) for each run of slots that holds a set bit.
template <typename Body>
void each_block(const framework::NodeBlocks& blocks, std::uint32_t slot_count, const std::uint64_t* bits, Body&& body) {
  for (cache::Slot first = 0; first < slot_count; first += k_block_rows) {
    const std::uint32_t rows = std::min(k_block_rows, slot_count - first);
    if (bitmap::any(bits + first / 64, (rows + 63) / 64)) body(blocks.contiguous(first, rows), first / 64);
  }
}

}  // namespace

void FilterPass::judge_blocks(framework::CycleContext& context, const std::uint64_t* candidates) {
  filters_.assign(context.profile().filter.begin(), context.profile().filter.end());
  const std::size_t words = snapshot_.word_count();
  alive_.assign(candidates, candidates + words);
  failed_.clear();
  each_block(blocks_, snapshot_.slot_count(), candidates, [&](const Block& block, std::size_t word) {
    framework::FilterFailure failure;
    if (framework::run_filters(context, blocks_, block, filters_, alive_.data() + word, scratch_, failure))
      return note_failures(block.first_slot);
    std::copy_n(candidates + word, block.words(), alive_.data() + word);
    judge_rows(context, block, word);
  });
}

void FilterPass::judge_rows(framework::CycleContext& context, const Block& block, std::size_t word) {
  bitmap::for_each(alive_.data() + word, block.words(), [&](std::size_t row) {
    const auto slot = static_cast<cache::Slot>(block.first_slot + row);
    std::uint64_t alive = 1;
    framework::FilterFailure failure;
    if (framework::run_filters(context, blocks_, blocks_.gathered({&slot, 1}), filters_, &alive, scratch_, failure)) {
      bitmap::assign(alive_.data(), slot, alive != 0);
      return note_failures(slot);
    }
    if (failed_.empty()) failed_bits_.assign(snapshot_.word_count(), 0);
    bitmap::set(failed_bits_.data(), slot);
    failed_.push_back({slot, slot + 1, std::move(failure)});
  });
}

void FilterPass::note_failures(cache::Slot first) {
  for (framework::RowFailure& error : scratch_.errors) {
    if (failed_.empty()) failed_bits_.assign(snapshot_.word_count(), 0);
    const cache::Slot slot = first + error.row;
    bitmap::set(failed_bits_.data(), slot);
    // The search ends with the first that it reaches; so many texts are kept, and of the others that there is one.
    if (failed_.size() >= k_failure_texts_max)
      error.text = framework::FilterCall::failure_text(*error.plugin, "failed for more nodes than texts are kept of");
    failed_.push_back({slot, slot + 1, {error.plugin, std::move(error.text)}});
  }
  scratch_.errors.clear();
}

framework::NodeVerdict FilterPass::judge_with(framework::CycleContext& context, cache::Slot slot,
                                              const Filters& filters, const std::vector<model::PodPtr>& others) {
  preemption::WhatIf with_them(context, blocks_, slot, filters);
  for (const model::PodPtr& pod : others)
    if (!with_them.add(*pod).ok()) break;  // judge() reports it
  return with_them.judge();
}

framework::NodeVerdict FilterPass::judge_nominated(framework::CycleContext& context, cache::Slot slot,
                                                   const std::vector<model::PodPtr>& nominated) {
  const Filters filters(context.profile().filter.begin(), context.profile().filter.end());
  if (!nominated.empty()) {
    framework::NodeVerdict verdict = judge_with(context, slot, filters, nominated);
    if (verdict.code != Code::success) return verdict;
  }
  // They may never arrive, so the pod must fit without them too.
  return judge_with(context, slot, filters, {});
}

void FilterFindings::begin(std::size_t words) {
  feasible.clear();
  rejected = 0;
  error.clear();
  if (few_rejected_ && rejected_nodes.size() == words)
    for (const cache::Slot slot : *few_rejected_) bitmap::clear(rejected_nodes.data(), slot);
  else
    rejected_nodes.assign(words, 0);
  few_rejected_.reset();
}

void FilterFindings::reject_few(std::span<const cache::Slot> nodes) {
  few_rejected_.emplace(nodes.begin(), nodes.end());
  for (const cache::Slot slot : nodes) bitmap::set(rejected_nodes.data(), slot);
  rejected = static_cast<std::uint32_t>(nodes.size());
}

bool FilterPass::run_few(framework::CycleContext& context, std::span<const cache::Slot> candidates, std::size_t start,
                         FilterFindings& out) {
  const std::size_t count = candidates.size();
  few_.assign(candidates.begin(), candidates.end());
  const auto place = snapshot_.order_index();
  std::sort(few_.begin(), few_.end(), [&](cache::Slot a, cache::Slot b) { return place[a] < place[b]; });
  std::rotate(few_.begin(), few_.begin() + static_cast<std::ptrdiff_t>(start % count), few_.end());
  filters_.assign(context.profile().filter.begin(), context.profile().filter.end());
  std::uint64_t alive = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  framework::FilterFailure failure;
  if (!framework::run_filters(context, blocks_, blocks_.gathered(few_), filters_, &alive, scratch_, failure) ||
      !scratch_.errors.empty()) {
    scratch_.errors.clear();
    return false;
  }
  few_rejected_.clear();
  for (std::size_t i = 0; i < count; ++i) ((alive >> i & 1) != 0 ? out.feasible : few_rejected_).push_back(few_[i]);
  out.reject_few(few_rejected_);
  return true;
}

void FilterPass::run(framework::CycleContext& context, const framework::CandidateNodes& taking,
                     const Nominated& nominated, std::int64_t wanted, std::size_t start, FilterFindings& out) {
  const std::size_t taking_part = taking.count();
  out.begin(snapshot_.word_count());
  if (!taking.few().empty() && nominated.empty() && wanted >= static_cast<std::int64_t>(taking_part) &&
      run_few(context, taking.few(), start, out))
    return;
  const std::uint64_t* const candidates = taking.bits();
  judge_blocks(context, candidates);
  std::map<cache::Slot, std::string> nominated_errors;
  for (const auto& [slot, pods] : nominated) {
    if (!bitmap::test(candidates, slot)) continue;
    const framework::NodeVerdict verdict = judge_nominated(context, slot, pods);
    bitmap::assign(alive_.data(), slot, verdict.code == Code::success);
    if (verdict.code == Code::error)
      nominated_errors[slot] = framework::Verdict{Code::error, verdict.plugin->index(),
                                                  framework::sentences(*verdict.plugin, verdict.reason)}
                                   .message();
  }

  const auto order = snapshot_.order();
  const auto failure_of = [&](cache::Slot slot) -> const std::string* {
    if (const auto it = nominated_errors.find(slot); it != nominated_errors.end()) return &it->second;
    if (nominated.contains(slot) || failed_.empty() || !bitmap::test(failed_bits_.data(), slot)) return nullptr;
    for (const Failed& failed : failed_)
      if (slot >= failed.first && slot < failed.end) return &failed.failure.text;
    return nullptr;
  };
  const bool may_fail = !failed_.empty() || !nominated_errors.empty();
  const auto visit = [&](cache::Slot slot) {  // false: the search is over
    if (may_fail)
      if (const std::string* text = failure_of(slot)) {
        out.error = *text;
        return false;
      }
    if (!bitmap::test(alive_.data(), slot)) {
      ++out.rejected;
      bitmap::set(out.rejected_nodes.data(), slot);
      return true;
    }
    if (static_cast<std::int64_t>(out.feasible.size()) == wanted) return false;
    out.feasible.push_back(slot);
    return true;
  };
  // Nodes outside the candidates (narrowed away by pre-filter) do not take part; the rotation counts those that do.
  const std::size_t total = order.size();
  if (!may_fail && taking_part == total && wanted >= static_cast<std::int64_t>(total)) {
    take_all(order, total == 0 ? 0 : start % total, out);
    return;
  }
  std::size_t begin = total == 0 ? 0 : start % total;
  if (taking_part != total && taking_part != 0) {
    std::size_t skip = start % taking_part;
    for (begin = 0; begin < total; ++begin)
      if (bitmap::test(candidates, order[begin]) && skip-- == 0) break;
  }
  for (std::size_t i = 0; i < total; ++i) {
    const std::size_t at = begin + i < total ? begin + i : begin + i - total;
    if (bitmap::test(candidates, order[at]) && !visit(order[at])) return;
  }
}

void FilterPass::take_all(std::span<const cache::Slot> order, std::size_t begin, FilterFindings& out) {
  for (std::size_t w = 0; w < alive_.size(); ++w) out.rejected_nodes[w] = snapshot_.nodes()[w] & ~alive_[w];
  out.rejected = static_cast<std::uint32_t>(bitmap::count(out.rejected_nodes.data(), out.rejected_nodes.size()));
  if (out.rejected == 0) {
    out.feasible.assign(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end());
    out.feasible.insert(out.feasible.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(begin));
    return;
  }
  out.feasible.reserve(order.size());
  const auto take = [&](std::span<const cache::Slot> slots) {
    for (const cache::Slot slot : slots)
      if (bitmap::test(alive_.data(), slot)) out.feasible.push_back(slot);
  };
  take(order.subspan(begin));
  take(order.first(begin));
}

void FilterPass::explain_rows(framework::CycleContext& context, const Block& block, const std::uint64_t* candidates,
                              std::vector<framework::NodeDetail>* details) {
  bitmap::for_each(candidates, block.words(), [&](std::size_t row) {
    const auto slot = static_cast<cache::Slot>(block.first_slot + row);
    std::uint64_t alive = 1;
    verdicts_[slot] = {};
    framework::explain_filters(context, blocks_, blocks_.gathered({&slot, 1}), filters_, &alive, scratch_,
                               std::span(verdicts_).subspan(slot, 1), details);
  });
}

void FilterPass::diagnose(framework::CycleContext& context, const std::uint64_t* candidates, const Nominated& nominated,
                          Diagnosis& out, std::vector<framework::NodeVerdict>* verdicts,
                          std::vector<framework::NodeDetail>* details) {
  filters_.assign(context.profile().filter.begin(), context.profile().filter.end());
  verdicts_.assign(snapshot_.slot_count(), {});
  alive_.assign(candidates, candidates + snapshot_.word_count());
  each_block(blocks_, snapshot_.slot_count(), candidates, [&](const Block& block, std::size_t word) {
    const auto verdicts_of_block = std::span(verdicts_).subspan(block.first_slot, block.rows);
    const std::size_t said = details == nullptr ? 0 : details->size();
    framework::explain_filters(context, blocks_, block, filters_, alive_.data() + word, scratch_, verdicts_of_block,
                               details);
    if (std::any_of(verdicts_of_block.begin(), verdicts_of_block.end(),
                    [](const framework::NodeVerdict& verdict) { return verdict.code == Code::error; })) {
      if (details != nullptr) details->resize(said);
      explain_rows(context, block, candidates + word, details);
    }
  });
  for (const auto& [slot, pods] : nominated)
    if (bitmap::test(candidates, slot)) verdicts_[slot] = judge_nominated(context, slot, pods);
  bitmap::for_each(candidates, snapshot_.word_count(), [&](std::size_t slot) {
    if (verdicts_[slot].code != Code::success && verdicts_[slot].plugin != nullptr)
      out.add(static_cast<cache::Slot>(slot), verdicts_[slot]);
  });
  if (explains_all_) add_further_reasons(context, candidates, nominated, out);
  if (verdicts != nullptr) *verdicts = verdicts_;
}

void FilterPass::add_further_reasons(framework::CycleContext& context, const std::uint64_t* candidates,
                                     const Nominated& nominated, Diagnosis& out) {
  std::vector<framework::NodeVerdict> further(snapshot_.slot_count());
  for (const framework::PluginInstance* filter : filters_) {
    further.assign(further.size(), {});
    alive_.assign(candidates, candidates + snapshot_.word_count());
    each_block(blocks_, snapshot_.slot_count(), candidates, [&](const Block& block, std::size_t word) {
      framework::explain_filters(context, blocks_, block, {&filter, 1}, alive_.data() + word, scratch_,
                                 std::span(further).subspan(block.first_slot, block.rows));
    });
    bitmap::for_each(candidates, snapshot_.word_count(), [&](std::size_t at) {
      const auto slot = static_cast<cache::Slot>(at);
      const framework::NodeVerdict& first = verdicts_[slot];
      if (framework::rejects(further[slot].code) && framework::rejects(first.code) && first.plugin != filter &&
          !nominated.contains(slot))
        out.add_further(slot, further[slot]);
    });
  }
  for (const auto& [slot, pods] : nominated)
    if (bitmap::test(candidates, slot) && framework::rejects(verdicts_[slot].code))
      add_further_of_nominated(context, slot, pods, out);
}

void FilterPass::add_further_of_nominated(framework::CycleContext& context, cache::Slot slot,
                                          const std::vector<model::PodPtr>& nominated, Diagnosis& out) {
  const bool fits_with_them = judge_with(context, slot, filters_, nominated).code == Code::success;
  for (const framework::PluginInstance* filter : filters_) {
    if (filter == verdicts_[slot].plugin) continue;
    const framework::NodeVerdict verdict =
        judge_with(context, slot, {filter}, fits_with_them ? std::vector<model::PodPtr>() : nominated);
    if (framework::rejects(verdict.code)) out.add_further(slot, verdict);
  }
}

}  // namespace berth::cycle
