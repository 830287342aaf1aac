// SPDX-License-Identifier: Apache-2.0
#include "net/proxy.hpp"

#include <arpa/inet.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

namespace berth::net {
namespace {

/// An IPv4 address is kept as IPv4 in IPv6, so that all compare alike.
struct Address {
  std::array<unsigned char, 16> bytes{};
  bool v4 = false;
};

std::optional<Address> read_address(const std::string& text) {
  Address out;
  if (inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1) return out;
  out.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  out.v4 = true;
  if (inet_pton(AF_INET, text.c_str(), out.bytes.data() + 12) == 1) return out;
  return std::nullopt;
}

bool same_prefix(const Address& a, const Address& b, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if ((a.bytes[bit / 8] & mask) != (b.bytes[bit / 8] & mask)) return false;
  }
  return true;
}

bool is_loopback(const Address& address) {
  static const Address k_v6 = *read_address("::1");
  static const Address k_v4 = *read_address("127.0.0.0");
  return same_prefix(address, k_v6, 128) || same_prefix(address, k_v4, 96 + 8);
}

bool in_network(const std::string& rule, const std::optional<Address>& host) {
  const std::size_t slash = rule.find('/');
  if (slash == std::string::npos || !host) return false;
  const std::optional<Address> network = read_address(rule.substr(0, slash));
  unsigned bits = 0;
  const char* const end = rule.data() + rule.size();
  if (!network || std::from_chars(rule.data() + slash + 1, end, bits).ptr != end) return false;
  if (network->v4) bits += 96;
  return bits <= 128 && same_prefix(*network, *host, bits);
}

/// One entry of NO_PROXY against "host".
bool matches(std::string rule, const Url& server, const std::optional<Address>& address) {
  if (rule == "*") return true;
  if (in_network(rule, address)) return true;
  const std::size_t colon = rule.rfind(':');
  if (colon != std::string::npos && rule.find(':') == colon) {  // host:port
    if (rule.substr(colon + 1) != std::to_string(server.port)) return false;
    rule.resize(colon);
  }
  if (address) {
    const std::optional<Address> other = read_address(rule);
    return other && same_prefix(*other, *address, 128);
  }
  if (rule.starts_with("*.")) rule.erase(0, 1);
  if (rule.starts_with('.')) return server.host.size() > rule.size() && server.host.ends_with(rule);
  return server.host == rule || server.host.ends_with("." + rule);
}

std::string either(const Environment& environment, const char* upper, const char* lower) {
  const std::string value = environment(upper);
  return value.empty() ? environment(lower) : value;
}

bool excluded(const Url& server, const std::string& rules) {
  const std::optional<Address> address = read_address(server.host);
  if (server.host == "localhost" || (address && is_loopback(*address))) return true;
  for (std::size_t start = 0; start <= rules.size();) {
    const std::size_t comma = std::min(rules.find(',', start), rules.size());
    std::string rule;
    for (const char c : rules.substr(start, comma - start))
      if (std::isspace(static_cast<unsigned char>(c)) == 0)
        rule += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!rule.empty() && matches(std::move(rule), server, address)) return true;
    start = comma + 1;
  }
  return false;
}

}  // namespace

bool is_proxy_scheme(std::string_view scheme) noexcept {
  return scheme == "http" || scheme == "https" || scheme == "socks5";
}

Result<std::optional<Url>> proxy_for(const Url& server, const Environment& environment) {
  const std::string text = server.secure() ? either(environment, "HTTPS_PROXY", "https_proxy")
                                           : either(environment, "HTTP_PROXY", "http_proxy");
  if (text.empty() || excluded(server, either(environment, "NO_PROXY", "no_proxy"))) return std::optional<Url>();
  Result<Url> url = parse_url(text, "http");
  if (!url.ok()) return Error{fmt::format("proxy of the environment: {}", url.error().message)};
  if (!is_proxy_scheme(url->scheme))
    return Error{
        fmt::format("proxy of the environment: scheme {} is not supported; http, https and socks5 are", url->scheme)};
  return std::optional<Url>(std::move(*url));
}

}  // namespace berth::net
