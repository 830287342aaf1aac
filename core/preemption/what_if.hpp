// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "framework/points/filter.hpp"

namespace berth::preemption {

/// A node as it would be with some pods added or removed, and the filters' states to match.
///
/// Made for one node of one cycle: copies the row, clones the states of plugins that watch other pods, then charges
/// pods. The snapshot and the cycle's own states stay as they are. Threads: the cycle's.
class WhatIf {
 public:
  WhatIf(framework::CycleContext& context, framework::NodeBlocks& blocks, cache::Slot slot,
         std::span<const framework::PluginInstance* const> filters);
  ~WhatIf();
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  /// What fails once fails from then on, judge() included.
  /// `handle`: of a pod that is on the node; left out for one that only counts there.
  Status add(const model::Pod& pod, cache::PodHandle handle = ~cache::PodHandle{0});
  Status remove(const model::Pod& pod, cache::PodHandle handle);
  /// The whole chain on the imagined node.
  framework::NodeVerdict judge();

 private:
  Status tell(const model::Pod& pod, bool added);
  Error fail(std::string why);

  framework::CycleContext& context_;
  framework::NodeBlocks& blocks_;
  const cache::Slot slot_;
  const std::span<const framework::PluginInstance* const> filters_;
  cache::NodeRow row_;
  std::vector<void*> states_;  // parallel to filters_; null: not cloned
  std::string error_;          // the first; empty: there was none
};

}  // namespace berth::preemption
