// SPDX-License-Identifier: Apache-2.0
#include "values/network.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>

#include "library/functions.hpp"

namespace berth::cel {
namespace {

std::string quoted(std::string_view text) { return '"' + std::string(text.substr(0, 256)) + '"'; }

bool starts_with(const Address& address, std::size_t bits, std::initializer_list<std::uint8_t> prefix) {
  std::size_t i = 0;
  for (const std::uint8_t byte : prefix) {
    const auto mask = static_cast<std::uint8_t>(bits >= 8 ? 0xFF : 0xFF << (8 - bits));
    if ((address.bytes[i++] & mask) != byte) return false;
    bits -= std::min<std::size_t>(bits, 8);
  }
  return true;
}

Address masked(const Address& address, std::uint32_t prefix) {
  Address result = address;
  for (std::uint32_t bit = prefix; bit < 128; ++bit)
    result.bytes[bit / 8] = static_cast<std::uint8_t>(result.bytes[bit / 8] & ~(0x80u >> bit % 8));
  return result;
}

const Address& address_at(const Call& call, std::size_t i) { return *call.args[i].address; }

Value keep(const Call& call, const Address& address, Kind kind, std::uint32_t prefix) {
  const Address* kept = call.arena.make(address);
  if (kept == nullptr) return of_error(k_no_memory);
  Value value = of_object(kind, kept);
  value.size = prefix;
  return value;
}

Value make_ip(const Call& call) {
  Address address;
  const std::string wrong = parse_address(call.args[0].text(), address);
  return wrong.empty() ? keep(call, address, Kind::ip, 0) : call.error(wrong);
}
Value is_ip(const Call& call) {
  Address address;
  return of_bool(parse_address(call.args[0].text(), address).empty());
}
Value is_canonical(const Call& call) {
  Address address;
  const std::string wrong = parse_address(call.args[0].text(), address);
  return wrong.empty() ? of_bool(address_text(address) == call.args[0].text()) : call.error(wrong);
}
Value family(const Call& call) { return of_int(address_at(call, 0).is_v4 ? 4 : 6); }

bool unspecified(const Address& address) { return address.bytes == std::array<std::uint8_t, 16>{}; }
bool loopback(const Address& address) {
  if (address.is_v4) return address.bytes[0] == 127;
  Address one;
  one.bytes[15] = 1;
  return address == one;
}
bool multicast(const Address& address) {
  return address.is_v4 ? starts_with(address, 4, {0xE0}) : address.bytes[0] == 0xFF;
}
bool link_local_multicast(const Address& address) {
  if (address.is_v4) return starts_with(address, 24, {224, 0, 0});
  return address.bytes[0] == 0xFF && (address.bytes[1] & 0x0F) == 0x02;
}
bool link_local_unicast(const Address& address) {
  return address.is_v4 ? starts_with(address, 16, {169, 254}) : starts_with(address, 10, {0xFE, 0x80});
}
bool global_unicast(const Address& address) {
  const bool broadcast = address.is_v4 && starts_with(address, 32, {255, 255, 255, 255});
  return !broadcast && !unspecified(address) && !loopback(address) && !multicast(address) &&
         !link_local_unicast(address);
}
template <bool (*test)(const Address&)>
Value ask(const Call& call) {
  return of_bool(test(address_at(call, 0)));
}

Value make_network(const Call& call) {
  Address address;
  std::uint32_t prefix = 0;
  const std::string wrong = parse_network(call.args[0].text(), address, prefix);
  return wrong.empty() ? keep(call, address, Kind::cidr, prefix) : call.error(wrong);
}
Value is_network(const Call& call) {
  Address address;
  std::uint32_t prefix = 0;
  return of_bool(parse_network(call.args[0].text(), address, prefix).empty());
}

bool contains(const Value& network, const Address& address) {
  return network.address->is_v4 == address.is_v4 &&
         masked(*network.address, network.size) == masked(address, network.size);
}
Value contains_ip(const Call& call) { return of_bool(contains(call.args[0], address_at(call, 1))); }
Value contains_ip_text(const Call& call) {
  Address address;
  const std::string wrong = parse_address(call.args[1].text(), address);
  return wrong.empty() ? of_bool(contains(call.args[0], address)) : call.error(wrong);
}
bool contains_network(const Value& outer, const Address& address, std::uint32_t prefix) {
  return prefix >= outer.size && contains(outer, address);
}
Value contains_cidr(const Call& call) {
  return of_bool(contains_network(call.args[0], address_at(call, 1), call.args[1].size));
}
Value contains_cidr_text(const Call& call) {
  Address address;
  std::uint32_t prefix = 0;
  const std::string wrong = parse_network(call.args[1].text(), address, prefix);
  return wrong.empty() ? of_bool(contains_network(call.args[0], address, prefix)) : call.error(wrong);
}
Value network_ip(const Call& call) { return of_object(Kind::ip, call.args[0].address); }
Value network_masked(const Call& call) {
  return keep(call, masked(address_at(call, 0), call.args[0].size), Kind::cidr, call.args[0].size);
}
Value prefix_length(const Call& call) { return of_int(call.args[0].size); }

constexpr FunctionRow k_network_rows[] = {
    {"ip", "(string) -> net.IP", k_traversal, make_ip},
    {"ip", "net.CIDR.() -> net.IP", k_one, network_ip},
    {"isIP", "(string) -> bool", k_traversal, is_ip},
    {"ip.isCanonical", "(string) -> bool", CostRule::two_traversals, is_canonical},
    {"family", "net.IP.() -> int", k_one, family},
    {"isUnspecified", "net.IP.() -> bool", k_one, ask<unspecified>},
    {"isLoopback", "net.IP.() -> bool", k_one, ask<loopback>},
    {"isLinkLocalMulticast", "net.IP.() -> bool", k_one, ask<link_local_multicast>},
    {"isLinkLocalUnicast", "net.IP.() -> bool", k_one, ask<link_local_unicast>},
    {"isGlobalUnicast", "net.IP.() -> bool", k_one, ask<global_unicast>},
    {"cidr", "(string) -> net.CIDR", k_traversal, make_network},
    {"isCIDR", "(string) -> bool", k_traversal, is_network},
    {"containsIP", "net.CIDR.(net.IP) -> bool", CostRule::contains_address, contains_ip},
    {"containsIP", "net.CIDR.(string) -> bool", CostRule::contains_address_text, contains_ip_text},
    {"containsCIDR", "net.CIDR.(net.CIDR) -> bool", CostRule::contains_network, contains_cidr},
    {"containsCIDR", "net.CIDR.(string) -> bool", CostRule::contains_network_text, contains_cidr_text},
    {"masked", "net.CIDR.() -> net.CIDR", k_one, network_masked},
    {"prefixLength", "net.CIDR.() -> int", k_one, prefix_length},
};

}  // namespace

std::string parse_address(std::string_view text, Address& address) {
  const std::string copy(text.substr(0, 64));
  address = {};
  const bool has_nul = copy.find('\0') != std::string::npos || text.size() > copy.size();
  if (!has_nul && copy.find(':') == std::string::npos && inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) {
    // The C library takes leading zeros, Go does not.
    for (std::size_t i = 0; i + 1 < copy.size(); ++i)
      if (copy[i] == '0' && (i == 0 || copy[i - 1] == '.') && copy[i + 1] != '.')
        return "IP Address " + quoted(text) + " parse error: IPv4 field has octet with leading zero";
    address.is_v4 = true;
    return {};
  }
  if (has_nul || inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1)
    return "IP Address " + quoted(text) + " parse error during conversion from string: ParseAddr: unable to parse IP";
  static constexpr std::array<std::uint8_t, 12> k_mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(k_mapped.begin(), k_mapped.end(), address.bytes.begin()))
    return "IPv4-mapped IPv6 address " + quoted(text) + " is not allowed";
  return {};
}

std::string parse_network(std::string_view text, Address& address, std::uint32_t& prefix) {
  const std::size_t slash = text.rfind('/');
  const std::string wrong = "network address parse error during conversion from string: " + quoted(text);
  if (slash == std::string_view::npos) return wrong + ": no '/'";
  if (!parse_address(text.substr(0, slash), address).empty()) return wrong;
  const std::string_view bits = text.substr(slash + 1);
  if (bits.empty() || bits.size() > 3 || (bits.size() > 1 && bits[0] == '0')) return wrong + ": bad bits after slash";
  prefix = 0;
  for (const char c : bits) {
    if (c < '0' || c > '9') return wrong + ": bad bits after slash";
    prefix = prefix * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return prefix > (address.is_v4 ? 32u : 128u) ? wrong + ": prefix length out of range" : std::string();
}

std::string address_text(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.is_v4) return inet_ntop(AF_INET, address.bytes.data(), text, sizeof text);
  // The C library writes some addresses of IPv6 with a tail in the form of IPv4; Go does not.
  int best = -1, best_size = 1;
  const auto group = [&](int i) {
    return static_cast<unsigned>(address.bytes[static_cast<std::size_t>(2 * i)] << 8 |
                                 address.bytes[static_cast<std::size_t>(2 * i + 1)]);
  };
  for (int start = 0; start < 8; ++start) {
    int size = 0;
    while (start + size < 8 && group(start + size) == 0) ++size;
    if (size > best_size) best = start, best_size = size;
  }
  std::string result;
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      result += "::";
      i += best_size - 1;
      continue;
    }
    if (!result.empty() && result.back() != ':') result += ':';
    char digits[8];
    std::snprintf(digits, sizeof digits, "%x", group(i));
    result += digits;
  }
  return result;
}

std::span<const FunctionRow> network_functions() { return k_network_rows; }

}  // namespace berth::cel
