// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <span>

#include "model/selectors.hpp"

namespace berth::model {

/// Whether labels meet one requirement of a label selector, which compares no numbers. Requires: sorted as Labels.
inline bool holds(const Requirement& requirement, std::span<const Label> labels) {
  const auto at = std::lower_bound(labels.begin(), labels.end(), requirement.key,
                                   [](const Label& label, Symbol key) { return label.key < key; });
  const bool known = at != labels.end() && at->key == requirement.key;
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), at->value) != requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::in:
      return known && listed();
    case Operator::not_in:
      return !known || !listed();
    case Operator::exists:
      return known;
    case Operator::does_not_exist:
      return !known;
    default:
      return false;
  }
}

}  // namespace berth::model
