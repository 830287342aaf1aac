// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace berth::tests {

/// A server that takes connections, keeps them and never says a word. Threads: any; it has one of its own.
class SilentServer {
 public:
  SilentServer();
  ~SilentServer();
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  /// "127.0.0.1:port".
  const std::string& authority() const noexcept;
  /// When each connection came; fewer than `count` only when they do not come within half a minute.
  std::vector<std::chrono::steady_clock::time_point> await_connections(std::size_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::tests
