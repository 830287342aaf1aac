// SPDX-License-Identifier: Apache-2.0
#include "serving/connection_rates.hpp"

#include <algorithm>
#include <cstring>

namespace berth::serving {
namespace {

constexpr std::size_t k_network_bytes = 8;  // of an IPv6 address

template <typename Bytes>
std::string_view text_of(const Bytes& bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

ConnectionRates::Count& ConnectionRates::count_of(const boost::asio::ip::address& from) {
  const bool is_v4 = from.is_v4() || from.to_v6().is_v4_mapped();
  std::optional<SaltedDigest::Value> digest;
  if (from.is_v4()) {
    const auto bytes = from.to_v4().to_bytes();
    digest = digest_.of(text_of(bytes, bytes.size()));
  } else {
    // The IPv4 address of a caller of a socket for both is in the last four bytes.
    const auto bytes = from.to_v6().to_bytes();
    digest = digest_.of(is_v4 ? text_of(bytes, bytes.size()).substr(12) : text_of(bytes, k_network_bytes));
  }
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
