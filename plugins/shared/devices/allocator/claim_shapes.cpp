// SPDX-License-Identifier: Apache-2.0
#include "claim_shapes.hpp"

#include <algorithm>

namespace berth::dra {
namespace {

constexpr std::size_t k_shape_bytes = 1024;

std::uint64_t last_change(const NodePools& pools, const AllocatedState& state) {
  std::uint64_t last = 0;
  for (const std::uint32_t pool : pools.numbers) last = std::max(last, state.changed(pool));
  return last;
}

}  // namespace

ClaimShape::ClaimShape(std::vector<std::shared_ptr<const PreparedClaim>> claims, Classes classes,
                       std::shared_ptr<ClaimShapeUse> use, std::size_t bytes_max, std::size_t own_bytes)
    : claims_(std::move(claims)),
      classes_(std::move(classes)),
      use_(std::move(use)),
      bytes_max_(bytes_max),
      bytes_(own_bytes) {
  use_->bytes.fetch_add(own_bytes, std::memory_order_relaxed);
}

ClaimShape::~ClaimShape() { use_->bytes.fetch_sub(bytes_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

void ClaimShape::prepare(std::size_t slots) {
  if (slots <= by_slot_.size()) return;
  const std::size_t more = (slots - by_slot_.size()) * sizeof(Kept);
  if (use_->bytes.load(std::memory_order_relaxed) + more > bytes_max_) return;
  by_slot_.resize(slots);
  bytes_.fetch_add(more, std::memory_order_relaxed);
  use_->bytes.fetch_add(more, std::memory_order_relaxed);
}

const ClaimShape::Kept* ClaimShape::find(std::size_t slot, const NodePools& pools, const AllocatedState& state) const {
  if (slot >= by_slot_.size() || !pools.is_reusable) return nullptr;
  const Kept& kept = by_slot_[slot];
  return kept.pools == pools.serial && kept.changed == last_change(pools, state) ? &kept : nullptr;
}

void ClaimShape::keep(std::size_t slot, const NodePools& pools, const AllocatedState& state, const Outcome& outcome) {
  if (slot >= by_slot_.size() || !pools.is_reusable) return;
  if (outcome.kind != Outcome::Kind::allocated && outcome.kind != Outcome::Kind::no_solution &&
      outcome.kind != Outcome::Kind::invalid_pools)
    return;
  Kept& kept = by_slot_[slot];
  const std::size_t before = kept.allocation == nullptr ? 0 : kept.allocation->bytes();
  const std::size_t after = outcome.allocation == nullptr ? 0 : outcome.allocation->bytes();
  // Unsigned differences: what wraps here wraps back in the sum.
  if (after > before && use_->bytes.load(std::memory_order_relaxed) + (after - before) > bytes_max_) return;
  bytes_.fetch_add(after - before, std::memory_order_relaxed);
  use_->bytes.fetch_add(after - before, std::memory_order_relaxed);
  kept = {pools.serial, last_change(pools, state), outcome.kind, outcome.allocation};
}

std::shared_ptr<ClaimShape> ClaimShapes::get(const std::vector<std::string_view>& specs,
                                             const std::vector<std::shared_ptr<const Claim>>& claims,
                                             const ClassLookup& classes, cel::ProgramCache& programs) {
  std::string key;
  for (const std::string_view spec : specs) (key += std::to_string(spec.size()) += ':').append(spec);
  {
    const guarded::Lock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      const auto entry = found->second;
      const auto& known = entry->shape->classes();
      const bool is_current =
          std::all_of(known.begin(), known.end(), [&](const auto& each) { return classes(each.first) == each.second; });
      if (is_current) {
        entries_.splice(entries_.begin(), entries_, entry);
        make_room();
        return entry->shape;
      }
      program_bytes_ -= entry->program_bytes;
      by_key_.erase(found);
      entries_.erase(entry);
    }
  }
  // A class may change between two look-ups: the claims are prepared with those that the shape is known by.
  ClaimShape::Classes used;
  const ClassLookup noted = [&](std::string_view name) {
    for (const auto& [known, found] : used)
      if (known == name) return found;
    return used.emplace_back(std::string(name), classes(name)).second;
  };
  std::vector<std::shared_ptr<const PreparedClaim>> prepared;
  prepared.reserve(claims.size());
  SelectorBudget budget;
  for (const auto& claim : claims) prepared.push_back(std::make_shared<PreparedClaim>(claim, noted, programs, budget));
  // The texts once here, and about as much three times in what is read from them. The cache has most of the programs too.
  auto shape = std::make_shared<ClaimShape>(std::move(prepared), std::move(used), use_, bytes_max_,
                                            k_shape_bytes + 4 * key.size());
  if (bytes_max_ == 0 || key.size() > k_key_bytes_max) return shape;
  const guarded::Lock lock(mutex_);
  if (by_key_.contains(key)) return shape;  // another thread was faster
  entries_.push_front({std::move(key), shape, budget.bytes});
  program_bytes_ += budget.bytes;
  by_key_.emplace(entries_.front().key, entries_.begin());
  make_room();
  return shape;
}

void ClaimShapes::make_room() {
  while (entries_.size() > 1 && (entries_.size() > k_shapes_max || program_bytes_ > k_program_bytes_max ||
                                 use_->bytes.load(std::memory_order_relaxed) > bytes_max_ / 8 * 7)) {
    program_bytes_ -= entries_.back().program_bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

void ClaimShapes::use(const std::shared_ptr<const Inventory>& inventory) {
  const guarded::Lock lock(mutex_);
  if (inventory_ == inventory) return;
  inventory_ = inventory;
  by_key_.clear();
  entries_.clear();
  program_bytes_ = 0;
}

}  // namespace berth::dra
