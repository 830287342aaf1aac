// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "observe/metric_page.hpp"

namespace berth::serving {

/// What one server has seen of its callers. Threads: any.
struct ServingCounts {
  /// Why the server, not the caller, ended a connection.
  enum class End : std::uint8_t {
    no_room,
    connection_rate,
    handshake_time,
    request_time,
    idle_time,
    answer_time,
    other_records
  };
  static constexpr std::array k_ends = {"no_room",   "connection_rate", "handshake_time", "request_time",
                                        "idle_time", "answer_time",     "other_records"};
  static constexpr std::array k_refusals = {400, 411, 413, 414, 429, 431, 505};

  std::atomic<std::int64_t> open{0};
  std::atomic<std::uint64_t> accepted{0}, accept_failures{0}, exceptions{0};
  std::array<std::atomic<std::uint64_t>, k_ends.size()> ended{};
  std::array<std::atomic<std::uint64_t>, k_refusals.size()> refused{};  // requests that were not read

  void note_end(End why) noexcept { ++ended[static_cast<std::size_t>(why)]; }
  void note_refusal(int status) noexcept {
    for (std::size_t i = 0; i < k_refusals.size(); ++i)
      if (k_refusals[i] == status) ++refused[i];
  }
  /// Something threw where nothing should. Said in the log the first time, the second, the fourth, and so on.
  void note_exception(const char* what) noexcept;
};

/// The counts of servers by their names, as metrics.
void add_serving_metrics(observe::MetricPage& page,
                         const std::vector<std::pair<std::string, const ServingCounts*>>& servers);

}  // namespace berth::serving
