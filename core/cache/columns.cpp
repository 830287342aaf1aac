// SPDX-License-Identifier: Apache-2.0
#include "cache/columns.hpp"

#include <algorithm>
#include <limits>

#include "base/bitmap.hpp"

namespace berth::cache {
namespace {

Symbol lookup(const model::Labels& labels, Symbol key) noexcept {
  const auto at =
      std::lower_bound(labels.begin(), labels.end(), key, [](const model::Label& l, Symbol k) { return l.key < k; });
  return at != labels.end() && at->key == key ? at->value : k_no_symbol;
}

Symbol status_of(const model::Node& node, Symbol type) noexcept {
  for (const model::NodeCondition& condition : node.conditions)
    if (condition.type == type) return condition.status;
  return k_no_symbol;
}

bool lists(const std::vector<model::ResourceAmount>& amounts, Symbol resource) noexcept {
  return std::any_of(amounts.begin(), amounts.end(),
                     [&](const model::ResourceAmount& amount) { return amount.name == resource; });
}

std::int64_t amount_of(const std::vector<model::ResourceAmount>& amounts, Symbol resource) noexcept {
  for (const model::ResourceAmount& amount : amounts)
    if (amount.name == resource) return amount.amount;
  return 0;
}

bool bit_value(const ColumnSpec& spec, const NodeRow& row) noexcept {
  if (!row.node) return false;
  switch (spec.kind) {
    case ColumnKind::has_allocatable:
      return lists(row.node->allocatable, spec.key);
    case ColumnKind::has_status_capacity:
      return lists(row.node->capacity, spec.key);
    case ColumnKind::lists_pods:
      return row.node->lists_pods;
    default:
      return row.node->unschedulable;
  }
}

std::int64_t wide_value(const ColumnSpec& spec, const NodeRow& row) noexcept {
  switch (spec.kind) {
    case ColumnKind::free: {
      std::int64_t free = 0;
      const std::int64_t requested = row.requested_of(spec.resource);
      if (__builtin_sub_overflow(row.allocatable_of(spec.resource), requested, &free))
        return requested < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
      return free;
    }
    case ColumnKind::capacity:
      return row.allocatable_of(spec.resource);
    case ColumnKind::listed:
      return row.node && lists(row.node->allocatable, spec.key) ? 1 : 0;
    case ColumnKind::status_capacity:
      return row.node ? amount_of(row.node->capacity, spec.key) : 0;
    case ColumnKind::requested:
      return row.requested_of(spec.resource);
    case ColumnKind::nonzero:
      return spec.resource == k_cpu      ? row.nonzero_cpu_milli
             : spec.resource == k_memory ? row.nonzero_memory_bytes
                                         : row.requested_of(spec.resource);
    case ColumnKind::pods:
      return static_cast<std::int64_t>(row.pods.size());
    case ColumnKind::allowed_pods:
      return row.wide_sums.empty() ? row.allowed_pods : 0;
    default:
      return 0;
  }
}

std::uint32_t narrow_value(const ColumnSpec& spec, const NodeRow& row) noexcept {
  switch (spec.kind) {
    case ColumnKind::label:
      return row.node ? lookup(row.node->labels, spec.key) : 0;
    case ColumnKind::annotation:
      return row.node ? lookup(row.node->annotations, spec.key) : 0;
    case ColumnKind::condition:
      return row.node ? status_of(*row.node, spec.key) : 0;
    case ColumnKind::taint_set:
      return row.taint_set;
    case ColumnKind::name:
      return row.node ? row.node->name_symbol : 0;
    case ColumnKind::image_set:
      return row.image_set;
    case ColumnKind::port_set:
      return row.port_set;
    case ColumnKind::feature_set:
      return row.feature_set;
    case ColumnKind::label_set:
      return row.label_set;
    case ColumnKind::volume_set:
      return row.volume_set;
    default:
      return 0;
  }
}

}  // namespace

ColumnWidth ColumnSpec::width() const noexcept {
  switch (kind) {
    case ColumnKind::unschedulable:
    case ColumnKind::has_allocatable:
    case ColumnKind::has_status_capacity:
    case ColumnKind::lists_pods:
      return ColumnWidth::bit;
    case ColumnKind::free:
    case ColumnKind::capacity:
    case ColumnKind::requested:
    case ColumnKind::nonzero:
    case ColumnKind::pods:
    case ColumnKind::allowed_pods:
    case ColumnKind::nothing:
    case ColumnKind::listed:
    case ColumnKind::status_capacity:
      return ColumnWidth::i64;
    default:
      return ColumnWidth::u32;
  }
}

bool ColumnSpec::usage() const noexcept {
  switch (kind) {
    case ColumnKind::free:
    case ColumnKind::requested:
    case ColumnKind::nonzero:
    case ColumnKind::pods:
    case ColumnKind::allowed_pods:
    case ColumnKind::port_set:
    case ColumnKind::volume_set:
    case ColumnKind::image_set:
      return true;  // image counts are refreshed with the row
    default:
      return false;
  }
}

void ColumnData::reserve_rows(std::size_t rows) {
  rows = (rows + 63) & ~std::size_t{63};
  if (rows <= rows_) return;
  const std::size_t per_row_bits = width_ == ColumnWidth::bit ? 1 : width_ == ColumnWidth::u32 ? 32 : 64;
  words_.resize(rows * per_row_bits / 64, 0);
  rows_ = rows;
}

void ColumnData::put(const ColumnSpec& spec, const NodeRow& row, std::size_t index) {
  switch (width_) {
    case ColumnWidth::i64:
      reinterpret_cast<std::int64_t*>(words_.data())[index] = wide_value(spec, row);
      return;
    case ColumnWidth::u32:
      reinterpret_cast<std::uint32_t*>(words_.data())[index] = narrow_value(spec, row);
      return;
    case ColumnWidth::bit:
      bitmap::assign(words_.data(), index, bit_value(spec, row));
      return;
  }
}

void ColumnData::zero(std::size_t index) noexcept {
  switch (width_) {
    case ColumnWidth::i64:
      words_[index] = 0;
      return;
    case ColumnWidth::u32:
      reinterpret_cast<std::uint32_t*>(words_.data())[index] = 0;
      return;
    case ColumnWidth::bit:
      bitmap::clear(words_.data(), index);
      return;
  }
}

void ColumnData::zero_rows(std::size_t first, std::size_t end) noexcept {
  if (first >= end) return;
  switch (width_) {
    case ColumnWidth::i64:
      std::fill(words_.data() + first, words_.data() + end, 0);
      return;
    case ColumnWidth::u32: {
      auto* const values = reinterpret_cast<std::uint32_t*>(words_.data());
      std::fill(values + first, values + end, 0);
      return;
    }
    case ColumnWidth::bit:
      for (std::size_t i = first; i < end; ++i) bitmap::clear(words_.data(), i);
      return;
  }
}

void ColumnData::gather(const ColumnData& from, std::span<const Slot> slots) noexcept {
  switch (width_) {
    case ColumnWidth::i64:
      for (std::size_t i = 0; i < slots.size(); ++i) words_[i] = from.words_[slots[i]];
      return;
    case ColumnWidth::u32: {
      auto* const to = reinterpret_cast<std::uint32_t*>(words_.data());
      const auto* const values = reinterpret_cast<const std::uint32_t*>(from.words_.data());
      for (std::size_t i = 0; i < slots.size(); ++i) to[i] = values[slots[i]];
      return;
    }
    case ColumnWidth::bit:
      for (std::size_t i = 0; i < slots.size(); ++i)
        bitmap::assign(words_.data(), i, bitmap::test(from.words_.data(), slots[i]));
      return;
  }
}

const void* ColumnData::at(std::size_t row) const noexcept {
  switch (width_) {
    case ColumnWidth::i64:
      return words_.data() + row;
    case ColumnWidth::u32:
      return words_.data() + row / 2;
    case ColumnWidth::bit:
      return words_.data() + row / 64;
  }
  return nullptr;
}

}  // namespace berth::cache
