// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/plugin_instance.hpp"

namespace berth::framework {

struct Scorer {
  PluginInstance* plugin = nullptr;
  std::int64_t weight = 1;
};

/// An upstream plugin that the profile enables and berth does not have: pods that need it are rejected.
struct AbsentRuntime {
  std::string name;
  model::PluginIndex index = model::k_no_plugin;
  std::string reason;
  bool scores = false;       // enabled at score
  bool scores_zero = false;  // enabled at score without having skipped itself before
};

/// What is still to come for a pod that has a node.
struct CallsAfterSearch {
  std::vector<std::uint8_t> calls;  // by ordinal: 1 for a plugin of reserve, permit or a binding point
  bool reads_shapes = false;        // reserve or permit may look at a shape that an earlier call of the cycle was shown
};

/// A profile with its plugin instances, one list per extension point in call order. Constant after start.
struct ProfileRuntime {
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::vector<std::unique_ptr<PluginInstance>> instances;  // by ordinal
  PluginInstance* queue_sort = nullptr;
  PluginInstance* groups = nullptr;  // says which pods get nodes together; may be null
  std::vector<PluginInstance*> pre_enqueue, pre_filter, filter, post_filter, pre_score, reserve, permit, pre_bind, bind,
      post_bind;
  std::vector<Scorer> score;
  std::vector<AbsentRuntime> absent;
  /// Union of what the plugins of pre-filter, filter, pre-score and score ask of a pod: the class key.
  PodFields class_fields;
  /// Durations of whole extension points, by observe::Point; null: they are not counted.
  observe::CallCounters* counters = nullptr;
  std::array<observe::CallCounters::Id, 32> runs{};
  CallsAfterSearch after_search;
};

}  // namespace berth::framework
