// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cluster/stopped.hpp"

namespace berth::cluster::kube {

/// Codes of Error that no API server gives: the answer did not come.
namespace failures {
/// The request may or may not have been carried out.
inline constexpr std::string_view broken = "ConnectionBroken";
/// The request did not reach the server.
inline constexpr std::string_view unreachable = "Unreachable";
/// The client was stopped before the answer came.
inline constexpr std::string_view stopped = k_stopped;
}  // namespace failures

/// What a refusing answer says: code is the reason of the Status object in the body, or the one that goes with the HTTP
/// status; message is the server's, as excerpt() has it.
Error api_error(int http_status, std::string_view body);

/// True when a list or watch has to start over because its version is too old (or too new for this server).
bool is_expired(const Error& error) noexcept;
/// True when the server said neither yes nor no, so that the same request may be sent again.
bool is_transient(const Error& error) noexcept;

}  // namespace berth::cluster::kube
