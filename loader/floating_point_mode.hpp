// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace berth::loader {

/// Rounding, flushing and trapping of this thread's arithmetic, without the sticky flags. Two hosts score alike only
/// while nothing changes it, and constructors linked in by -ffast-math do.
struct FloatingPointMode {
  std::uint64_t control = 0;   // MXCSR on amd64, FPCR on arm64, fegetround() elsewhere
  std::uint64_t extended = 0;  // the x87 control word on amd64

  static FloatingPointMode current() noexcept;
  void restore() const noexcept;
  std::string text() const;  // "mxcsr 0x1f80, x87 0x37f"
  friend bool operator==(const FloatingPointMode&, const FloatingPointMode&) = default;
};

}  // namespace berth::loader
