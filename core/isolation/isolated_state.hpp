// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace berth::framework {
class PluginInstance;
}

namespace berth::isolation {

/// How an instance's process fares.
struct IsolatedState {
  bool is_up = false;
  std::int32_t process = 0;    // while it is up
  std::uint64_t failures = 0;  // since the start of berth
  std::uint64_t restarts = 0;  // likewise
  std::string failure;         // the last one; empty: there was none
};

/// Nothing: the plugin's code is in this process. Threads: any; waits for a call that is under way.
std::optional<IsolatedState> isolated_state(const framework::PluginInstance& plugin);

}  // namespace berth::isolation
