// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "framework/profile_runtime.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// Calls the queue points for one pod. Threads: under the queue's lock, one call at a time; keeps an arena for the
/// views.
class QueueCalls {
 public:
  struct Entry {
    const model::Pod& pod;
    std::uint32_t attempts;
    std::int64_t enqueued_ns;
    std::int64_t first_attempt_ns;
  };
  /// All zeros for a plugin without keys.
  std::array<std::uint64_t, 4> key(const PluginInstance& plugin, const Entry& entry);
  bool less(const PluginInstance& plugin, const Entry& a, const Entry& b);
  /// Success, or why the pod stays out.
  Verdict pre_enqueue(const PluginInstance& plugin, const Entry& entry);

 private:
  Arena arena_;
};

}  // namespace berth::framework
