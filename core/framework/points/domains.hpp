// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "berth/ext/domains.h"
#include "framework/cycle_context.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {

/// The columns that policies named for one pod: what their verdicts and scores follow from.
/// Ownership: arrays behind the columns are the plugins', good until the next call for a pod of the class.
struct DomainColumns {
  struct Range {
    const PluginInstance* plugin = nullptr;
    std::uint32_t first = 0, count = 0;  // in columns
  };
  std::vector<berth_domain_column_v1> columns;
  std::vector<Range> filters, scorers;

  void clear() noexcept {
    columns.clear();
    filters.clear();
    scorers.clear();
  }
};

/// Whether a choice for this pod may go by groups of nodes: every filter that looks at other nodes has named columns. What they
/// named is added to `out`. Requires: pre-filter ran.
bool ask_filter_columns(CycleContext& context, DomainColumns& out);
/// Likewise for scores; runs pre-score in passing, of plugins that do not look at the feasible nodes. False: a choice needs them
/// one by one, and pre-score has to run with them.
bool ask_score_columns(CycleContext& context, std::uint32_t feasible_at_most, DomainColumns& out);

/// Groups of nodes as plugins see them.
struct GroupColumns {
  std::uint32_t count = 0;
  std::vector<std::vector<std::int64_t>> values;    // [column][group]
  std::vector<std::vector<std::uint32_t>> domains;  // likewise
  std::vector<std::uint32_t> nodes;                 // [group]
  // Of the call at hand.
  std::vector<const std::int64_t*> value_pointers;
  std::vector<const std::uint32_t*> domain_pointers;
};
/// False: the plugin broke.
bool run_filter_groups(CycleContext& context, const DomainColumns::Range& range, GroupColumns& groups,
                       std::vector<std::uint64_t>& pass);
bool run_score_groups(CycleContext& context, const DomainColumns::Range& range, GroupColumns& groups,
                      std::vector<std::int64_t>& scores);

}  // namespace berth::framework
