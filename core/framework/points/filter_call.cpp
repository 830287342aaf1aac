// SPDX-License-Identifier: Apache-2.0
#include "framework/points/filter_call.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/guarded_answer.hpp"

namespace berth::framework {
namespace {

constexpr std::size_t k_row_text_bytes = 1024;
constexpr std::uint8_t k_details_per_row = 64;

std::string row_text(berth_str text) { return clean_text(from_abi(text).substr(0, k_row_text_bytes)); }

}  // namespace

FilterCall::FilterCall(CycleContext& context, const PluginInstance& plugin, std::uint64_t* pass,
                       std::uint64_t* unresolvable, berth_reason* reasons)
    : context_(context),
      plugin_(plugin),
      out_{sizeof(berth_filter_out_v1), 0, pass, unresolvable, reasons, this, &fail_row, nullptr, nullptr} {}

Code FilterCall::run(berth_cycle_v1* cycle, const berth_node_block_v1* block, Note& note) {
  block_ = block;
  std::fill_n(pending_.data(), (block->rows + 63) / 64, 0);
  out_.pending = pending_.data();
  out_.add_detail = (cycle->flags & BERTH_CYCLE_WANT_DETAILS) != 0 ? &add_detail : nullptr;
  const Code code = plugin_.filter_budget_ns() == 0 ? call(cycle, note) : [&] {
    const Clock& clock = plugin_.host().ports.clock;
    const std::int64_t budget_ns = plugin_.filter_budget_ns();
    std::int64_t& spent_ns = context_.filter_spent_ns(plugin_);
    if (spent_ns >= budget_ns) {
      note.write(fmt::format("the {} ms that it may take for an attempt are used up", budget_ns / 1'000'000));
      return Code::error;
    }
    const std::int64_t begin_ns = clock.monotonic_ns();
    cycle->deadline_ns = static_cast<std::uint64_t>(begin_ns + (budget_ns - spent_ns));
    const Code answer = call(cycle, note);
    cycle->deadline_ns = 0;
    spent_ns += clock.monotonic_ns() - begin_ns;
    return answer;
  }();
  if (!errors_.empty()) {
    std::sort(errors_.begin(), errors_.end(), [](const RowError& a, const RowError& b) { return a.row < b.row; });
    for (const RowError& error : errors_) bitmap::clear(out_.pass, error.row);
  }
  return code;
}

Code FilterCall::call(berth_cycle_v1* cycle, Note& note) {
  return plugin_.host().traps_unasked_fields ? call_guarded(cycle, note) : ask(cycle, note);
}

Code FilterCall::call_guarded(berth_cycle_v1* cycle, Note& note) {
  const std::size_t words = (block_->rows + 63) / 64;
  GuardedAnswer pass(out_.pass, words, words);
  GuardedAnswer unresolvable(out_.unresolvable, words, words);
  GuardedAnswer pending(out_.pending, words, words);
  GuardedAnswer reasons(out_.reasons, block_->rows, words * 64);
  const Code code = ask(cycle, note);
  const char* beyond = nullptr;
  if (!reasons.give_back()) beyond = "reasons";
  if (!pending.give_back()) beyond = "pending";
  if (!unresolvable.give_back()) beyond = "unresolvable";
  if (!pass.give_back()) beyond = "pass";
  if (beyond == nullptr) return code;
  note.write(fmt::format("it wrote past the end of {}, which has {} rows", beyond, block_->rows));
  return Code::error;
}

Code FilterCall::ask(berth_cycle_v1* cycle, Note& note) {
  const Code code = call_plugin(plugin_, observe::Point::filter, note, [&] {
    return plugin_.filter->filter(plugin_.self(), cycle, block_, &out_, note.abi());
  });
  if (out_.flags == 0 || code != Code::success) return code;
  note.write(fmt::format("it set the reserved flags of its answer to {:#x}", out_.flags));
  return Code::error;
}

Code FilterCall::rejection(std::uint32_t row) const noexcept {
  return bitmap::test(pending_.data(), row)     ? Code::pending
         : bitmap::test(out_.unresolvable, row) ? Code::unresolvable
                                                : Code::unschedulable;
}

std::string FilterCall::failure_text(const PluginInstance& plugin, std::string_view what) {
  return fmt::format("running \"{}\" filter plugin: {}", plugin.name(), what);
}

std::string FilterCall::failure_text(Code code, const Note& note) const {
  return failure_text(plugin_, code == Code::error ? note.text() : invalid_code(plugin_, observe::Point::filter, code));
}

bool FilterCall::is_candidate(std::uint32_t row) const noexcept {
  return row < block_->rows && bitmap::test(block_->candidates, row);
}

berth_code FilterCall::fail_row(void* ctx, std::uint32_t row, berth_str text) {
  auto& call = *static_cast<FilterCall*>(ctx);
  if (!call.is_candidate(row)) return BERTH_BAD_ARGS;
  call.failed_.resize((call.block_->rows + 63) / 64);
  if (bitmap::test(call.failed_.data(), row)) return BERTH_OK;
  bitmap::set(call.failed_.data(), row);
  call.errors_.push_back({row, failure_text(call.plugin_, row_text(text))});
  return BERTH_OK;
}

berth_code FilterCall::add_detail(void* ctx, std::uint32_t row, berth_str text, std::uint64_t count) {
  auto& call = *static_cast<FilterCall*>(ctx);
  if (!call.is_candidate(row)) return BERTH_BAD_ARGS;
  call.details_of_row_.resize(call.block_->rows);
  if (call.details_of_row_[row] == k_details_per_row) return BERTH_OK;
  ++call.details_of_row_[row];
  call.details_.push_back({row, row_text(text), count});
  return BERTH_OK;
}

}  // namespace berth::framework
