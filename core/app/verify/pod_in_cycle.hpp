// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/verify/plugin_under_test.hpp"
#include "framework/points/filter.hpp"
#include "framework/points/pre_filter.hpp"

namespace berth::app {

/// A cycle of one pod, step by step: pre-filter has run when it is made, and it ends without a decision. Filters and scores
/// are asked about nodes in whatever blocks the caller likes.
///
/// Lifetime: the plugin under test outlives it. Threads: one, and no decision meanwhile.
class PodInCycle {
 public:
  PodInCycle(PluginUnderTest& plugin, const model::PodPtr& pod);

  /// Pre-filter has let it pass.
  bool goes_on() const noexcept { return prepared_.verdict.success(); }
  const framework::ProfileRuntime& profile() const noexcept { return context_->profile(); }
  framework::CycleContext& context() noexcept { return *context_; }
  framework::NodeBlocks& blocks() noexcept { return blocks_; }
  const cache::Snapshot& snapshot() const noexcept { return parts_.snapshot; }
  const std::vector<cache::Slot>& candidates() const noexcept { return candidates_; }
  std::string node_name(cache::Slot slot) const { return parts_.snapshot.row(slot).node->name; }
  /// Of the profile, those that are tested.
  std::vector<const framework::PluginInstance*> filters(const TestedPlugins& tested) const;

  /// How nodes are cut into blocks.
  struct Cut {
    std::uint32_t rows;
    bool gathered;  // slots of their own, last first; else runs of slots
  };
  /// By slot: whether the filters let the candidates pass. Absent: one of them broke, and `failure` says how.
  std::optional<std::vector<std::uint8_t>> pass(std::span<const framework::PluginInstance* const> filters, Cut cut,
                                                std::string& failure);
  /// The candidates that pass() lets pass.
  std::vector<cache::Slot> passing(const std::vector<std::uint8_t>& passes) const;
  /// By slot: raw scores of these nodes. Requires: pre_score() of them.
  std::optional<std::vector<std::int64_t>> scores(const framework::PluginInstance& scorer,
                                                  std::span<const cache::Slot> nodes, Cut cut, std::string& failure);
  Status pre_score(std::span<const cache::Slot> nodes);

 private:
  /// Calls body(block, bits of its rows) for each block with one of the nodes, until it answers false.
  template <typename Body>
  bool each_block(std::span<const cache::Slot> nodes, Cut cut, Body&& body);

  const scheduler::DecisionParts parts_;
  framework::NodeBlocks blocks_;
  framework::CyclePool::Handle context_;
  framework::PreFilterResult prepared_;
  std::vector<cache::Slot> candidates_;
  framework::FilterScratch scratch_;
};

}  // namespace berth::app
