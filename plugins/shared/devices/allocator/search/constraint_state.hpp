// SPDX-License-Identifier: Apache-2.0
/// A constraint of a claim during one search.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "../inventory.hpp"
#include "../prepared_claim.hpp"

namespace berth::dra {

/// Remembers values as numbers: equal numbers are attributes of one type and value.
class ConstraintState {
 public:
  ConstraintState(const PreparedConstraint& constraint, std::uint32_t positions)
      : constraint_(&constraint), values_(positions, k_unknown) {}

  bool covers(std::uint32_t query) const { return constraint_->covers[query]; }
  /// False: the device would violate it. `query` and `request` are indices in the claim.
  bool add(std::uint32_t query, std::uint32_t request, std::uint32_t position, const PooledDevice& device);
  void remove(std::uint32_t query, std::uint32_t request);

 private:
  enum : std::uint32_t { k_unknown, k_absent, k_untyped, k_first };
  std::uint32_t value_of(std::uint32_t position, const PooledDevice& device);
  std::uint32_t look_up(const PooledDevice& device);
  bool add_distinct(std::uint32_t request, std::uint32_t value);

  const PreparedConstraint* constraint_;
  std::vector<std::uint32_t> values_;  ///< by position
  std::map<std::pair<cel::Attribute::Type, std::int64_t>, std::uint32_t> numbers_;
  std::map<std::pair<cel::Attribute::Type, std::string_view>, std::uint32_t> texts_;
  std::uint32_t next_ = k_first;
  std::int64_t count_ = 0;
  std::uint32_t remembered_ = k_unknown;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> slots_;  ///< of distinct: one value per request, the latest
};

}  // namespace berth::dra
