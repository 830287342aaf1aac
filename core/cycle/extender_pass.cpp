// SPDX-License-Identifier: Apache-2.0
#include "cycle/extender_pass.hpp"

#include <algorithm>

#include "base/bitmap.hpp"

namespace berth::cycle {

Status ExtenderPass::filter(const model::Pod& pod, std::vector<cache::Slot>& feasible) {
  if (!any_filters() || feasible.empty()) return Unit{};
  Result<extender::Extenders::Judged> judged = extenders_->filter(pod, feasible, host_);
  if (!judged.ok()) return judged.error();
  for (auto& [name, rejected] : judged->rejected) {
    const cache::Slot slot = host_.slot_of(name);
    if (slot == cache::k_no_slot)
      unknown_[name] = std::move(rejected);
    else
      said_[slot] = std::move(rejected);
  }
  feasible = std::move(judged->passed);
  return Unit{};
}

std::uint32_t ExtenderPass::rejected_outside(const std::vector<std::uint64_t>& counted) const {
  const auto outside = std::count_if(said_.begin(), said_.end(),
                                     [&](const auto& said) { return !bitmap::test(counted.data(), said.first); });
  return static_cast<std::uint32_t>(outside) + static_cast<std::uint32_t>(unknown_.size());
}

void ExtenderPass::leave_out(framework::CandidateNodes& candidates) const {
  for (const auto& [slot, rejected] : said_) candidates.leave_out(slot);
}

void ExtenderPass::add_to(Diagnosis& diagnosis) const {
  for (const auto& [slot, rejected] : said_) diagnosis.add(slot, rejected.code, rejected.why);
  for (const auto& [name, rejected] : unknown_) diagnosis.add(cache::k_no_slot, rejected.code, rejected.why);
}

const extender::Extenders::NodeRejection* ExtenderPass::said_about(cache::Slot slot) const {
  const auto found = said_.find(slot);
  return found == said_.end() ? nullptr : &found->second;
}

Result<std::vector<std::int64_t>> ExtenderPass::ranks(const model::Pod& pod, std::span<const cache::Slot> feasible,
                                                      std::vector<std::int64_t>& totals) {
  Result<std::vector<extender::Extenders::Score>> scores = extenders_->prioritize(pod, feasible, host_);
  if (!scores.ok()) return scores.error();
  scores_ = std::move(*scores);
  std::vector<bool> given(feasible.size());
  for (const extender::Extenders::Score& score : scores_)
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      totals[i] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(totals[i]) + static_cast<std::uint64_t>(score.added[i]));
      if (score.given[i]) given[i] = true;
    }
  const std::int64_t most = *std::max_element(totals.begin(), totals.end());
  std::vector<std::int64_t> rank(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i)
    if (totals[i] == most) rank[i] = given[i] ? 2 : 1;
  return rank;
}

}  // namespace berth::cycle
