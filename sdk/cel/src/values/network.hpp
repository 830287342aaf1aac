// SPDX-License-Identifier: Apache-2.0
/// IP addresses and networks, as Go's net/netip reads and writes them, without zones and without IPv4 in IPv6.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::cel {

struct Address {
  std::array<std::uint8_t, 16> bytes{};  ///< of IPv4 the first four
  bool is_v4 = false;
  bool operator==(const Address&) const = default;
};

/// The error is empty if it has been parsed.
std::string parse_address(std::string_view text, Address& address);
std::string parse_network(std::string_view text, Address& address, std::uint32_t& prefix);
std::string address_text(const Address& address);

}  // namespace berth::cel
