// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace berth::framework {
class PluginInstance;

/// Table of "berth.log/1".
const void* log_service() noexcept;
/// Logs on behalf of a plugin; severity is BERTH_LOG_*.
void write_log(const PluginInstance& plugin, std::uint32_t severity, std::string_view message);
}  // namespace berth::framework
