// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

/// Codes of Error that no server gives: the answer did not come.
namespace berth::net::failures {

/// The request may or may not have been carried out.
inline constexpr std::string_view broken = "ConnectionBroken";
/// The request did not reach the server.
inline constexpr std::string_view unreachable = "Unreachable";
/// The client was stopped before the answer came.
inline constexpr std::string_view stopped = "Stopped";

}  // namespace berth::net::failures
