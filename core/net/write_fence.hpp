// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace berth::net {

/// Decides whether a write that was handed to a client earlier may still be sent.
///
/// Threads: any; called right before sending, so it must not block.
class WriteFence {
 public:
  virtual ~WriteFence() = default;
  /// What a write that is handed over now carries; 0: it may not be sent at all.
  virtual std::uint64_t ticket() const noexcept = 0;
  /// False when the write of that ticket must not be sent any more.
  virtual bool admits(std::uint64_t ticket) const noexcept = 0;
};

}  // namespace berth::net
