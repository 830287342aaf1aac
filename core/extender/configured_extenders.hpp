// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "config/profile.hpp"
#include "extender/extenders.hpp"
#include "net/io_threads.hpp"

namespace berth::extender {

/// The extenders of a configuration with all that they need: a thread for their connections, and real time.
/// Lifetime: outlives the scheduler. Threads: as framework::Extenders.
class ConfiguredExtenders {
 public:
  /// Null when none is configured, and, with complaints, when one cannot be used. `on_wait`: as framework::Extenders.
  static std::unique_ptr<ConfiguredExtenders> make(const config::Configuration& configuration, SymbolTable& symbols,
                                                   std::function<void(bool waits)> on_wait,
                                                   std::vector<std::string>& complaints);

  extender::Extenders& all() noexcept { return *all_; }
  const extender::Extenders& all() const noexcept { return *all_; }

 private:
  ConfiguredExtenders() : io_(1) {}

  SystemClock clock_;
  net::IoThreads io_;
  std::unique_ptr<extender::Extenders> all_;
};

}  // namespace berth::extender
