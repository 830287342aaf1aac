// SPDX-License-Identifier: Apache-2.0
#include "serving/connection_rates.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::serving {
namespace {

using boost::asio::ip::make_address;
using std::chrono::milliseconds;

class Rates : public testing::Test {
 protected:
  /// How many of `times` connections of that address are admitted at once.
  int admitted(const std::string& address, int times) {
    int out = 0;
    for (int i = 0; i < times; ++i) out += rates.admit(make_address(address), now) ? 1 : 0;
    return out;
  }

  ConnectionRates rates{10, 20};
  ConnectionRates::Time now{std::chrono::hours(1)};
};

TEST_F(Rates, ABurstIsAdmittedAndThenConnectionsAtTheRate) {
  EXPECT_EQ(admitted("10.0.0.1", 100), 20);
  now += milliseconds(550);
  EXPECT_EQ(admitted("10.0.0.1", 100), 5);
  now += std::chrono::hours(1);
  EXPECT_EQ(admitted("10.0.0.1", 100), 20) << "no more than a burst, however long nothing came";
}

TEST_F(Rates, WhatIsRefusedTakesNothing) {
  EXPECT_EQ(admitted("10.0.0.1", 10'000), 20);
  now += milliseconds(100);
  EXPECT_EQ(admitted("10.0.0.1", 1), 1);
}

TEST_F(Rates, OfAnIpv6NetworkAreOfOneCaller) {
  EXPECT_EQ(admitted("2001:db8:1:2::1", 15) + admitted("2001:db8:1:2:ffff::2", 15), 20);
}

TEST_F(Rates, AnIpv4AddressIsTheSameOnASocketForBoth) {
  EXPECT_EQ(admitted("10.0.0.1", 15) + admitted("::ffff:10.0.0.1", 15), 20);
}

TEST_F(Rates, OneAddressDoesNotUseUpThoseOfOthers) {
  EXPECT_EQ(admitted("10.0.0.1", 1000), 20);
  int others = 0;
  for (int i = 0; i < 100; ++i) others += admitted("10.0.1." + std::to_string(i), 1);
  EXPECT_GE(others, 95) << "1,024 counts are shared";
  int networks = 0;
  for (int i = 0; i < 100; ++i) networks += admitted("2001:db8:0:" + std::to_string(i) + "::1", 1);
  EXPECT_GE(networks, 95);
}

}  // namespace
}  // namespace berth::serving
