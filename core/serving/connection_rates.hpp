// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "serving/salted_digest.hpp"

// Internal to core/serving.
namespace berth::serving {

/// How many connections each address may open: `burst` at once, `per_s` a second in the long run. What is beyond that
/// is to be closed before the handshake, which costs the server a signature.
///
/// An IPv6 caller is known by its /64, which one machine usually has whole. Addresses share 1,024 counts by a salted hash,
/// so that the table has one size, and a caller cannot pick an address that shares the count of another.
///
/// Threads: one at a time.
class ConnectionRates {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Requires: per_s > 0, burst >= 1.
  ConnectionRates(double per_s, double burst) : per_s_(per_s), burst_(burst) {}

  /// False when the address has opened too many until now. Requires: `now` is never before that of an earlier call.
  bool admit(const boost::asio::ip::address& from, Time now);

 private:
  static constexpr std::size_t k_counts = 1024;
  /// Nothing was taken before the first call.
  struct Count {
    double taken = 0;  // as of `last`; falls by per_s_
    Time last{};
  };

  Count& count_of(const boost::asio::ip::address& from);

  const double per_s_, burst_;
  const SaltedDigest digest_;
  std::array<Count, k_counts> counts_{};
};

}  // namespace berth::serving
