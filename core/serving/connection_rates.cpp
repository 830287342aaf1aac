// SPDX-License-Identifier: Apache-2.0
#include "serving/connection_rates.hpp"

#include <algorithm>
#include <cstring>

namespace berth::serving {
namespace asio = boost::asio;

ConnectionRates::Count& ConnectionRates::count_of(const asio::ip::address& from) {
  constexpr std::size_t k_v4_begin = 12, k_network_bytes = 8;  // of the 16 bytes of an IPv6 address
  // A socket for both kinds sees IPv4 callers as IPv6 addresses: both ways are written in this one.
  const asio::ip::address_v6 address =
      from.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, from.to_v4()) : from.to_v6();
  const auto bytes = address.to_bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::optional<SaltedDigest::Value> digest =
      digest_.of(address.is_v4_mapped() ? text.substr(k_v4_begin) : text.substr(0, k_network_bytes));
  std::size_t number = 0;
  if (digest) std::memcpy(&number, digest->data(), sizeof number);
  return counts_[number % k_counts];
}

bool ConnectionRates::admit(const boost::asio::ip::address& from, Time now) {
  Count& count = count_of(from);
  const double passed_s = std::chrono::duration<double>(now - count.last).count();
  count.taken = std::max(0.0, count.taken - passed_s * per_s_);
  count.last = now;
  if (count.taken + 1 > burst_) return false;
  count.taken += 1;
  return true;
}

}  // namespace berth::serving
