// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/plugin_call.hpp"
#include "framework/view/node_blocks.hpp"

namespace berth::framework {

/// One call of a plugin's filter: within what its budget leaves, and with what it says about single rows in addition to
/// its bits.
///
/// Bounds: one error per row, 64 details per row, texts of 1,024 bytes. Threads: one.
class FilterCall {
 public:
  struct RowError {
    std::uint32_t row = 0;
    std::string text;
  };
  struct RowDetail {
    std::uint32_t row = 0;
    std::string text;
    std::uint64_t count = 0;
  };

  /// The buffers are as berth_filter_out_v1 says, and the caller's. reasons may be null.
  FilterCall(CycleContext& context, const PluginInstance& plugin, std::uint64_t* pass, std::uint64_t* unresolvable,
             berth_reason* reasons);
  FilterCall(const FilterCall&) = delete;
  FilterCall& operator=(const FilterCall&) = delete;

  /// `cycle` is the instance's, or a copy. Rows with an error are cleared in `pass` afterwards.
  Code run(berth_cycle_v1* cycle, const berth_node_block_v1* block, Note& note);

  /// Sorted by row.
  std::vector<RowError>& errors() noexcept { return errors_; }
  std::vector<RowDetail>& details() noexcept { return details_; }
  /// What the bits of a row say that is not in `pass`.
  Code rejection(std::uint32_t row) const noexcept;
  /// `running "X" filter plugin: …`
  static std::string failure_text(const PluginInstance& plugin, std::string_view what);
  std::string failure_text(Code code, const Note& note) const;

 private:
  static berth_code fail_row(void* ctx, std::uint32_t row, berth_str text);
  static berth_code add_detail(void* ctx, std::uint32_t row, berth_str text, std::uint64_t count);
  bool is_candidate(std::uint32_t row) const noexcept;
  Code call(berth_cycle_v1* cycle, Note& note);
  Code call_guarded(berth_cycle_v1* cycle, Note& note);
  Code ask(berth_cycle_v1* cycle, Note& note);

  CycleContext& context_;
  const PluginInstance& plugin_;
  const berth_node_block_v1* block_ = nullptr;
  berth_filter_out_v1 out_;
  std::vector<RowError> errors_;
  std::vector<RowDetail> details_;
  std::array<std::uint64_t, k_max_block_rows / 64> pending_;  // by row, as far as the block goes
  std::vector<std::uint64_t> failed_;                         // by row; empty: none has
  std::vector<std::uint8_t> details_of_row_;                  // empty: no row has any
};

}  // namespace berth::framework
