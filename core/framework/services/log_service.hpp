// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "framework/checking.hpp"

namespace berth::framework {
class PluginInstance;

/// Table of "berth.log/1".
const void* log_service() noexcept;
/// Logs on behalf of a plugin; severity is BERTH_LOG_*.
void write_log(const PluginInstance& plugin, std::uint32_t severity, std::string_view message);
/// Logs what a plugin may not do as an error, and keeps it where the host traps unasked fields.
void log_misuse(const PluginInstance& plugin, Misuse kind, std::string_view message);
}  // namespace berth::framework
