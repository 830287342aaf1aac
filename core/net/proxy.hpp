// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/process/environment.hpp"
#include "base/result.hpp"
#include "net/url.hpp"

namespace berth::net {

/// http, https (CONNECT, through TLS for the latter) and socks5.
bool is_proxy_scheme(std::string_view scheme) noexcept;

/// The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or their lower-case forms) want for a server; none for a
/// direct connection. NO_PROXY lists hosts, ".domains", addresses, CIDRs and "host:port"; "*" excludes all; loopback
/// addresses and "localhost" never use one. Failure: a proxy URL that cannot be used.
/// Source: golang.org/x/net/http/httpproxy, which upstream's client uses.
Result<std::optional<Url>> proxy_for(const Url& server, const Environment& environment);

}  // namespace berth::net
