// SPDX-License-Identifier: Apache-2.0
#include "net/url.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/base64.hpp"
#include "base/url_text.hpp"
#include "base/utf8.hpp"

namespace berth::net {
namespace {

std::uint16_t default_port(std::string_view scheme) {
  if (scheme == "https") return 443;
  return scheme.starts_with("socks5") ? 1080 : 80;
}

std::optional<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_host(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
}

/// "host", "host:port", "[v6]", "[v6]:port".
bool read_authority(std::string_view text, Url& url) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    url.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  url.port = default_port(url.scheme);
  if (port.size() > 1) {
    const std::optional<std::uint16_t> number = port[0] == ':' ? read_port(port.substr(1)) : std::nullopt;
    if (!number) return false;
    url.port = *number;
  }
  return is_host(url.host) && (port.empty() || port[0] == ':');
}

}  // namespace

std::string Url::authority() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string Url::host_header() const {
  const std::string whole = authority();
  return port == default_port(scheme) ? whole.substr(0, whole.rfind(':')) : whole;
}

std::string basic_authorization(const std::string& user, const std::string& password) {
  return "Basic " + encode_base64(user + ":" + password);
}

std::string Url::basic_authorization() const { return net::basic_authorization(user, password); }

Result<Url> parse_url(std::string_view text, std::string_view default_scheme) {
  const Error bad{
      fmt::format("\"{}\" is not the URL of a server, as https://host:6443 is", url_without_password(text))};
  Url url;
  std::string_view rest = text;
  const std::size_t scheme_end = text.find("://");
  url.scheme = lower_case(scheme_end == std::string_view::npos ? default_scheme : text.substr(0, scheme_end));
  if (scheme_end != std::string_view::npos) rest = text.substr(scheme_end + 3);
  if (url.scheme.empty() || !is_host(url.scheme)) return bad;
  if (rest.find_first_of("?# \t\r\n") != std::string_view::npos) return bad;

  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view credentials = authority.substr(0, at);
    const std::size_t colon = std::min(credentials.find(':'), credentials.size());
    url.user = percent_decode(credentials.substr(0, colon));
    if (colon < credentials.size()) url.password = percent_decode(credentials.substr(colon + 1));
    authority = authority.substr(at + 1);
  }
  if (!read_authority(authority, url)) return bad;
  return url;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~')
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

}  // namespace berth::net
