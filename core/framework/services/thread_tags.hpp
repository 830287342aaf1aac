// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace berth::framework {
class PluginInstance;

/// The thread tags of the SDK's headers, as bits.
namespace tags {
inline constexpr std::uint32_t load = 1, cycle = 2, worker = 4, binder = 8, watch = 16;
}

/// Whether the plugin may call the host function from where the calling thread is. Where not, the log names the function and
/// the place, and the function does nothing: it answers DENIED, or with no value.
///
/// where: bits of tags; a function that is allowed everywhere does not ask. A thread of the plugin's own is in none of
/// them. A plugin that is linked in is trusted like the host's own code.
/// Threads: any. Cost: two loads where the call is allowed.
bool is_allowed(const PluginInstance& plugin, std::string_view function, std::uint32_t where);

}  // namespace berth::framework
