// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/profile.hpp"
#include "extender/extenders.hpp"
#include "net/io_threads.hpp"
#include "text/diagnostics.hpp"

namespace berth::extender {

/// The extenders of a configuration with all that they need: a thread for their connections, and real time.
/// Lifetime: outlives the scheduler. Threads: as framework::Extenders.
class ConfiguredExtenders {
 public:
  /// Null when none is configured. Fails when some cannot be used. `on_wait`: as framework::Extenders.
  static Result<std::unique_ptr<ConfiguredExtenders>, text::Diagnostics> make(
      const config::Configuration& configuration, SymbolTable& symbols, std::function<void(bool waits)> on_wait);

  extender::Extenders& all() noexcept { return all_; }
  const extender::Extenders& all() const noexcept { return all_; }

 private:
  ConfiguredExtenders(const config::Configuration& configuration, SymbolTable& symbols,
                      std::function<void(bool waits)> on_wait, text::Diagnostics& diagnostics);
  std::vector<std::unique_ptr<Extender>> those_of(const config::Configuration& configuration, SymbolTable& symbols,
                                                  text::Diagnostics& diagnostics);

  const SystemClock clock_;
  net::IoThreads io_;
  extender::Extenders all_;
};

}  // namespace berth::extender
