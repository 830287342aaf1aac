// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::net {

/// The value of a header that logs in with user and password.
std::string basic_authorization(const std::string& user, const std::string& password);

/// Where a server is. IPv6 literals stand in `host` without brackets.
struct Url {
  std::string scheme;  // lower case
  std::string host;
  std::uint16_t port = 0;  // never 0 after parse_url()
  std::string path;        // without a trailing slash; empty for "/"
  std::string user, password;

  bool secure() const noexcept { return scheme == "https"; }
  /// "host:port", brackets where IPv6 needs them: for CONNECT and for messages.
  std::string authority() const;
  /// The same without the port that its scheme has anyway: for Host headers.
  std::string host_header() const;
  bool has_user() const noexcept { return !user.empty(); }
  std::string basic_authorization() const;
  friend bool operator==(const Url&, const Url&) = default;
};

/// "https://10.0.0.1:6443/prefix". A text without "://" gets `default_scheme`. Query and fragment are refused.
Result<Url> parse_url(std::string_view text, std::string_view default_scheme);

/// Escapes everything but unreserved characters (RFC 3986): one path segment or one query value.
std::string percent_encode(std::string_view text);

}  // namespace berth::net
