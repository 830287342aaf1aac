// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace berth::bench {

/// Passes connections on to a port of this machine, and remembers when how much came back: so it can be said from
/// outside when a client had been sent its lists, whatever the client is. Threads: any; it has one of its own.
class Relay {
 public:
  explicit Relay(std::uint16_t to_port);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::uint16_t port() const noexcept;
  /// The end of the last stretch before `until` in which at least `bytes_per_s` came back; nothing: there was none.
  std::optional<std::chrono::steady_clock::time_point> end_of_flood(std::chrono::steady_clock::time_point until,
                                                                    double bytes_per_s) const;
  std::uint64_t bytes_back() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::bench
