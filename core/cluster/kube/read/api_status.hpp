// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/http_client.hpp"

namespace berth::cluster::kube {

/// What a refusing answer says: code is that of the reason in the Status object of the body, or the one that goes with the
/// HTTP status; message is the server's, as excerpt() has it.
Error api_error(int http_status, std::string_view body);

/// True when a list or watch has to start over because its version is too old (or too new for this server).
bool is_expired(const Error& error) noexcept;
/// True when the server said neither yes nor no, so that the same request may be sent again.
bool is_transient(const Error& error) noexcept;

/// The answer's body when the status is 2xx, else what the server says is wrong.
Result<std::string> body_of(Result<net::Response> response);

}  // namespace berth::cluster::kube
