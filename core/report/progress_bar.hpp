// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "base/clock.hpp"

namespace berth::report {

/// One line that shows how far something is, drawn over itself; nothing for what takes less than a second.
/// Threads: one. `out` and `clock` outlive it.
class ProgressBar {
 public:
  /// `visible`: out is a terminal. `what`: "deciding".
  ProgressBar(std::ostream& out, const Clock& clock, bool visible, std::string what);
  /// Erases the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Cheap enough to call for every pod. all: 0 when unknown.
  void update(std::size_t done, std::size_t all);

 private:
  static constexpr std::int64_t k_patience_ns = 1'000'000'000;
  static constexpr std::int64_t k_period_ns = 100'000'000;
  void draw(std::size_t done, std::size_t all, std::int64_t now_ns);

  std::ostream& out_;
  const Clock& clock_;
  const bool visible_;
  const std::string what_;
  const std::int64_t start_ns_;
  std::int64_t next_ns_;
  bool drawn_ = false;
};

}  // namespace berth::report
