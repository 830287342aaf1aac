// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>

namespace berth::serving {

/// One more in a count while it lives. The count outlives it. Threads: the owner's; counts are shared.
class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& count) : count_(count), before_(count++) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }
  /// How many there were without it.
  std::size_t before() const noexcept { return before_; }

 private:
  std::atomic<std::size_t>& count_;
  const std::size_t before_;
};

}  // namespace berth::serving
