// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/verify/plugin_under_test.hpp"
#include "base/result.hpp"
#include "text/json_writer.hpp"

namespace berth::app {

/// What a plugin allocates at one of its points, over many calls of it.
struct PointAllocations {
  std::string plugin;
  std::string point;  // "filter"
  std::uint64_t attempts = 0, calls = 0, allocations = 0, bytes = 0;

  double per_attempt() const noexcept;
  double per_call() const noexcept;
  double bytes_per_call() const noexcept;
};

/// Of each point of the tested plugins that an attempt calls, up to permit, which is given back. Every node is judged; a call of filter
/// and score has a block of them. What was not allocated is there as 0. In a process of its own: it counts for good.
/// Fails as PluginUnderTest::make() and count_heap_calls().
Result<std::vector<PointAllocations>> measure_allocations(const TestedPlugins& tested, std::size_t nodes,
                                                          std::size_t rounds);

/// For people: "filter 0, score 1.5 (96 bytes)"; of several plugins each with its name.
std::string to_text(const std::vector<PointAllocations>& points);
/// The same, or "not counted: " and why they could not be.
std::string to_text(const Result<std::vector<PointAllocations>>& points);
/// Members of the object that is begun: "allocations", a list; or null, and then "allocationsNotCounted", which says why.
void write_allocations(const Result<std::vector<PointAllocations>>& points, text::JsonWriter& json);

}  // namespace berth::app
