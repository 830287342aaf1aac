// SPDX-License-Identifier: Apache-2.0
#include "app/verify/pod_in_cycle.hpp"

#include <algorithm>
#include <iterator>

#include "base/bitmap.hpp"
#include "framework/points/score.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::app {
namespace {

// Far from those of decisions.
constexpr std::uint64_t k_cycle_id = std::uint64_t{1} << 40;

framework::CyclePool::Handle context_for(const scheduler::DecisionParts& parts, const model::Pod& pod) {
  const std::size_t profile = parts.framework.index_of(pod.scheduler_name);
  BERTH_CHECK(profile != std::string::npos, "pods of the checks are of a profile");
  return parts.framework.pool(profile).take();
}

}  // namespace

PodInCycle::PodInCycle(PluginUnderTest& plugin, const model::PodPtr& pod)
    : parts_(plugin.scheduler().decision_parts()), blocks_(parts_.snapshot), context_(context_for(parts_, *pod)) {
  parts_.cache.refresh(parts_.snapshot);
  context_->begin(pod, 0, k_cycle_id, &parts_.snapshot);
  framework::CandidateNodes left;
  left.begin(parts_.snapshot);
  framework::CandidateMemory memory;
  prepared_ = framework::run_pre_filter(*context_, left, memory);
  bitmap::for_each(left.bits(), left.word_count(),
                   [&](std::size_t slot) { candidates_.push_back(static_cast<cache::Slot>(slot)); });
}

std::vector<const framework::PluginInstance*> PodInCycle::filters(const TestedPlugins& tested) const {
  std::vector<const framework::PluginInstance*> list;
  for (const framework::PluginInstance* filter : profile().filter)
    if (tested.has(filter->name())) list.push_back(filter);
  return list;
}

template <typename Body>
bool PodInCycle::each_block(std::span<const cache::Slot> nodes, Cut cut, Body&& body) {
  std::vector<std::uint64_t> bits;
  if (cut.gathered) {
    std::vector<cache::Slot> slots(nodes.rbegin(), nodes.rend());
    for (std::size_t first = 0; first < slots.size(); first += cut.rows) {
      const auto some = std::span(slots).subspan(first, std::min<std::size_t>(cut.rows, slots.size() - first));
      bits.assign((some.size() + 63) / 64, 0);
      for (std::size_t row = 0; row < some.size(); ++row) bitmap::set(bits.data(), row);
      if (!body(blocks_.gathered(some), bits.data())) return false;
    }
    return true;
  }
  std::vector<std::uint64_t> wanted(snapshot().word_count());
  for (const cache::Slot slot : nodes) bitmap::set(wanted.data(), slot);
  for (cache::Slot first = 0; first < snapshot().slot_count(); first += cut.rows) {
    const std::uint32_t rows = std::min(cut.rows, snapshot().slot_count() - first);
    bits.assign(wanted.data() + first / 64, wanted.data() + first / 64 + (rows + 63) / 64);
    if (bitmap::any(bits.data(), bits.size()) && !body(blocks_.contiguous(first, rows), bits.data())) return false;
  }
  return true;
}

std::optional<std::vector<std::uint8_t>> PodInCycle::pass(std::span<const framework::PluginInstance* const> filters,
                                                          Cut cut, std::string& failure) {
  std::vector<std::uint8_t> passes(snapshot().slot_count(), 0);
  const bool judged = each_block(candidates_, cut, [&](const framework::Block& block, std::uint64_t* alive) {
    framework::FilterFailure broken;
    if (!framework::run_filters(*context_, blocks_, block, filters, alive, scratch_, broken)) {
      failure = broken.text;
      return false;
    }
    for (const framework::RowFailure& error : scratch_.errors) failure = error.text;
    bitmap::for_each(alive, block.words(),
                     [&](std::size_t row) { passes[block.slot(static_cast<std::uint32_t>(row))] = 1; });
    return scratch_.errors.empty();
  });
  if (!judged) return std::nullopt;
  return passes;
}

std::vector<cache::Slot> PodInCycle::passing(const std::vector<std::uint8_t>& passes) const {
  std::vector<cache::Slot> slots;
  std::copy_if(candidates_.begin(), candidates_.end(), std::back_inserter(slots),
               [&](cache::Slot slot) { return passes[slot] != 0; });
  return slots;
}

Status PodInCycle::pre_score(std::span<const cache::Slot> nodes) { return framework::run_pre_score(*context_, nodes); }

std::optional<std::vector<std::int64_t>> PodInCycle::scores(const framework::PluginInstance& scorer,
                                                            std::span<const cache::Slot> nodes, Cut cut,
                                                            std::string& failure) {
  std::vector<std::int64_t> all(snapshot().slot_count(), 0), raw(framework::k_max_block_rows, 0);
  const bool scored = each_block(nodes, cut, [&](const framework::Block& block, std::uint64_t* rows) {
    const Status status = framework::run_score(*context_, blocks_, block, scorer, rows, raw.data());
    if (!status.ok()) failure = status.error().message;
    bitmap::for_each(rows, block.words(),
                     [&](std::size_t row) { all[block.slot(static_cast<std::uint32_t>(row))] = raw[row]; });
    return status.ok();
  });
  if (!scored) return std::nullopt;
  return all;
}

}  // namespace berth::app
