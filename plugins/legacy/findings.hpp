// SPDX-License-Identifier: Apache-2.0
/// Rejections of rows for several reasons at once: a predicate of that time named all that it found.
#pragma once
#include <berth/filter.hpp>
#include <berth/services.hpp>

#include <string_view>
#include <vector>

namespace berth::legacy {

/// The rows of one word that something is wrong with.
struct Finding {
  Mask rows;
  std::string_view text;
  bool unresolvable = false;
};

/// A row with several findings gets one id for all their texts, in the order of the findings; it is unresolvable when
/// one of them is. Rows that fail alike share an id, so the cost is one look-up per distinct combination and 64 rows.
inline void reject_all(std::span<const Finding> findings, std::uint32_t word, FilterBlock& block, Reasons reasons) {
  Mask failed;
  Mask beyond;
  for (const Finding& finding : findings) {
    failed |= finding.rows;
    if (finding.unresolvable) beyond |= finding.rows;
  }
  failed &= block.open(word);
  if (!failed.any()) return;
  if (!block.wants_reasons()) {
    block.reject(word, failed && beyond, unresolvable(0));
    block.reject(word, failed, unschedulable(0));
    return;
  }
  std::vector<berth_str> texts;
  while (failed.any()) {
    const auto row = static_cast<unsigned>(std::countr_zero(failed.bits()));
    Mask alike = failed;
    texts.clear();
    for (const Finding& finding : findings) {
      alike &= finding.rows[row] ? finding.rows : !finding.rows;
      if (finding.rows[row]) texts.push_back(borrow(finding.text));
    }
    block.reject(word, alike, Rejection{reasons.make(texts), beyond[row]});
    failed &= !alike;
  }
}

}  // namespace berth::legacy
