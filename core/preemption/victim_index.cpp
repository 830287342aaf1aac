// SPDX-License-Identifier: Apache-2.0
#include "preemption/victim_index.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <tuple>

namespace berth::preemption {
namespace {

std::uint32_t flags_of(const model::Pod& pod) {
  std::uint32_t flags = pod.deleting ? std::uint32_t{BERTH_VICTIM_TERMINATING} : 0u;
  for (const model::PodCondition& condition : pod.conditions) {
    if (condition.type != "DisruptionTarget") continue;
    if (condition.status == "True" && condition.reason == "PreemptionByScheduler") flags |= BERTH_VICTIM_PREEMPTED;
    break;  // the first one counts
  }
  return flags;
}

constexpr std::size_t k_tolerated_waste = 1024;  // before everything is read again
constexpr std::size_t k_slack = 2;               // rows a slot may grow by before it moves

}  // namespace

berth_victim_v1 victim_facts(const model::Pod& pod, cache::Slot node, std::uint32_t position) {
  return {pod.start_ns == 0 ? BERTH_NOT_STARTED : pod.start_ns, pod.priority, flags_of(pod), position, node};
}

PodOnNode VictimIndex::pod_on_node(const model::PodPtr& pod_ptr, cache::PodHandle handle) {
  const model::Pod& pod = *pod_ptr;
  PodOnNode out;
  Amounts amounts{};
  const model::PodRequests& requests = pod.requests;
  const auto& asked = requests.resources;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (i < cache::k_first_scalar)
      amounts[i] = asked[i].effective;
    else
      out.has_scalars = out.has_scalars || asked[i].effective != 0;
  }
  amounts[static_cast<std::size_t>(Amount::nonzero_cpu)] = requests.nonzero_cpu_milli;
  amounts[static_cast<std::size_t>(Amount::nonzero_memory)] = requests.nonzero_memory_bytes;
  amounts[static_cast<std::size_t>(Amount::pods)] = 1;
  out.amounts = amount_class(amounts);
  out.shape = shape_number(pod_ptr);
  out.handle = handle;
  out.has_lists = !pod.spec->host_ports.empty() ||
                  std::any_of(pod.volumes.begin(), pod.volumes.end(),
                              [](const model::PodVolume& v) { return v.kind != model::PodVolume::Kind::other; });
  return out;
}

std::size_t VictimIndex::HashAmounts::operator()(const Amounts& amounts) const noexcept {
  return boost::hash_range(amounts.begin(), amounts.end());
}

std::uint32_t VictimIndex::amount_class(const Amounts& amounts) {
  const auto [at, added] = amount_numbers_.try_emplace(amounts, static_cast<std::uint32_t>(amount_classes_.size()));
  if (added) amount_classes_.push_back(amounts);
  return at->second;
}

std::uint32_t VictimIndex::shape_number(const model::PodPtr& pod) {
  const auto [at, added] = shape_numbers_.try_emplace(pod, static_cast<std::uint32_t>(shapes_.size()));
  if (added) shapes_.push_back(pod);
  return at->second;
}

void VictimIndex::start_over() {
  ++numbering_;
  pods_.clear();
  facts_.clear();
  ranges_.assign(host_.snapshot.slot_count(), {});
  wasted_ = 0;
  lowest_priority_ = INT32_MAX;
  amount_numbers_.clear();
  amount_classes_.clear();
  shape_numbers_.clear();
  shapes_.clear();
  for (cache::Slot slot = 0; slot < host_.snapshot.slot_count(); ++slot) read(slot);
}

void VictimIndex::refresh(Importance importance, void* self) {
  const cache::Snapshot& snapshot = host_.snapshot;
  const std::uint64_t end = snapshot.journal_end();
  if (importance != importance_ || self != self_) known_ = false;
  if (const std::uint64_t now = host_.symbols.generation(); now != symbol_generation_) {
    symbol_generation_ = now;
    known_ = false;
  }
  importance_ = importance;
  self_ = self;
  if (!known_ || membership_ != snapshot.membership_generation() ||
      end - position_ > cache::Snapshot::k_journal_capacity || ranges_.size() != snapshot.slot_count() ||
      wasted_ > pods_.size() / 2 + k_tolerated_waste || amount_classes_.size() > 2 * pods_.size() + k_tolerated_waste ||
      shapes_.size() > 2 * snapshot.live_shape_count() + k_tolerated_waste) {
    start_over();
  } else {
    for (std::uint64_t p = position_; p != end; ++p) read(snapshot.journal(p));
  }
  known_ = true;
  membership_ = snapshot.membership_generation();
  position_ = end;
}

void VictimIndex::read(cache::Slot slot) {
  const cache::NodeRow& row = host_.snapshot.row(slot);
  fresh_.clear();
  fresh_facts_.clear();
  if (row.node != nullptr)
    for (const cache::PodHandle handle : row.pods)
      if (const model::PodPtr pod = host_.pod_of(handle)) {
        fresh_facts_.push_back(victim_facts(*pod, slot, static_cast<std::uint32_t>(fresh_.size())));
        lowest_priority_ = std::min(lowest_priority_, fresh_facts_.back().priority);
        fresh_.push_back(pod_on_node(pod, handle));
      }
  const auto count = static_cast<std::uint32_t>(fresh_.size());
  Held& held = ranges_[slot];
  if (count > held.capacity) {
    wasted_ += held.capacity;
    held.first = static_cast<std::uint32_t>(pods_.size());
    held.capacity = count + static_cast<std::uint32_t>(k_slack);
    pods_.resize(pods_.size() + held.capacity);
    facts_.resize(pods_.size());
  }
  held.count = count;
  held.whole = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    const Amounts& amounts = amount_classes_[fresh_[i].amounts];
    for (std::size_t a = 0; a < k_amounts; ++a) held.whole.sum[a] += amounts[a];
    held.whole.highest_priority = std::max(held.whole.highest_priority, fresh_facts_[i].priority);
    held.whole.has_scalars = held.whole.has_scalars || fresh_[i].has_scalars;
    held.whole.has_lists = held.whole.has_lists || fresh_[i].has_lists;
  }

  keys_.assign(2 * fresh_.size(), 0);
  if (count != 0) importance_(self_, fresh_facts_.data(), count, keys_.data());
  order_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) order_[i] = i;
  std::stable_sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tie(keys_[2 * a], keys_[2 * a + 1]) < std::tie(keys_[2 * b], keys_[2 * b + 1]);
  });
  for (std::uint32_t i = 0; i < count; ++i) {
    pods_[held.first + i] = fresh_[order_[i]];
    facts_[held.first + i] = fresh_facts_[order_[i]];
  }
}

}  // namespace berth::preemption
