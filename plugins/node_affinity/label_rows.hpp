// SPDX-License-Identifier: Apache-2.0
/// Node selectors against 64 rows at a time.
#pragma once
#include <berth/plugin.hpp>

namespace node_affinity {

/// Label values of 64 rows, wherever they are cheapest: in the host's column by slot, when pre_filter asked for it,
/// else in the rows' label lists. Both hold the same facts about a node, so a verdict does not depend on the source.
class LabelRows {
 public:
  LabelRows(berth::Rows rows, berth::Mask wanted, const berth::Sets& sets, berth::IdColumn label_set,
            berth::IdColumn name) noexcept
      : rows_(rows), wanted_(wanted), sets_(sets), label_set_(label_set), name_(name) {}

  berth::Mask wanted() const noexcept { return wanted_; }
  berth::Lane<berth::Id> names() const noexcept { return rows_[name_]; }
  /// Values of `key`, 0 where absent. Rows that are not wanted hold anything. Valid until the next call.
  berth::Lane<berth::Id> values(berth::Id key, const berth::Id* by_slot) noexcept {
    const berth::Block& block = rows_.block();
    if (by_slot != nullptr && block.contiguous() && block.first_slot() % 64 == 0) {
      return berth::Lane<berth::Id>(by_slot + block.first_slot() + std::size_t{64} * rows_.word());
    }
    berth::each_bit(wanted_.bits(), [&](std::uint32_t row) {
      const berth::Slot slot = rows_.slot(row);
      gathered_[row] = by_slot != nullptr && slot != BERTH_NO_SLOT
                           ? by_slot[slot]
                           : berth::find_label(sets_.labels(rows_[label_set_][row]), key);
    });
    return berth::Lane<berth::Id>(gathered_);
  }

 private:
  berth::Rows rows_;
  berth::Mask wanted_;
  const berth::Sets& sets_;
  berth::IdColumn label_set_;
  berth::IdColumn name_;
  alignas(64) berth::Id gathered_[64] = {};
};

/// Takes the columns of a selection one by one, in the order in which pre_filter or pre_score collected them.
class ColumnCursor {
 public:
  explicit ColumnCursor(std::span<const berth::Id* const> columns) noexcept : columns_(columns) {}
  const berth::Id* next() noexcept { return at_ < columns_.size() ? columns_[at_++] : nullptr; }

 private:
  std::span<const berth::Id* const> columns_;
  std::size_t at_ = 0;
};

/// Which of the wanted rows meet a requirement.
inline berth::Mask meets(const berth::Requirement& requirement, berth::Lane<berth::Id> values, berth::Mask wanted,
                         const berth::NodeMatcher& matcher) noexcept {
  const auto any_listed = [&] {
    berth::Mask listed;
    for (const berth::Id value : berth::span_of(requirement.values, requirement.value_count)) listed |= values == value;
    return listed;
  };
  switch (requirement.op) {
    case BERTH_OP_IN:
      return wanted && any_listed();
    case BERTH_OP_NOT_IN:
      return wanted && !any_listed();
    case BERTH_OP_EXISTS:
      return wanted && values != 0u;
    case BERTH_OP_DOES_NOT_EXIST:
      return wanted && values == 0u;
    default:
      break;
  }
  berth::Mask met;
  each_distinct(values, wanted, [&](berth::Id value, berth::Mask rows) {
    if (matcher.meets(requirement, value)) met |= rows;
  });
  return met;
}

/// Which of the wanted rows match a term. Takes one column per expression, also where the answer is known before.
inline berth::Mask matches(const berth::NodeTerm& term, LabelRows& rows, ColumnCursor& columns,
                           const berth::NodeMatcher& matcher) noexcept {
  berth::Mask matching = berth::NodeMatcher::can_match(term) ? rows.wanted() : berth::Mask::none();
  for (const berth::Requirement& expression : berth::span_of(term.expressions, term.expression_count)) {
    const berth::Id* column = columns.next();
    if (matching.any()) matching = meets(expression, rows.values(expression.key, column), matching, matcher);
  }
  if (term.field_count == 0 || !matching.any()) return matching;
  berth::Mask fitting;
  each_distinct(rows.names(), matching, [&](berth::Id name, berth::Mask same) {
    if (matcher.fields_match(term, name)) fitting |= same;
  });
  return fitting;
}

/// Which of the wanted rows match at least one term.
inline berth::Mask matches_any(std::span<const berth::NodeTerm> terms, LabelRows& rows, ColumnCursor& columns,
                               const berth::NodeMatcher& matcher) noexcept {
  berth::Mask matching;
  for (const berth::NodeTerm& term : terms) matching |= matches(term, rows, columns, matcher);
  return matching;
}

}  // namespace node_affinity
