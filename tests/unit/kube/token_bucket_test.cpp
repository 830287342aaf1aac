// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/token_bucket.hpp"

#include <gtest/gtest.h>

#include "cluster/kube/credentials.hpp"
#include "cluster/kube/inflate.hpp"

#include <cstdio>
#include <fstream>

namespace berth::cluster::kube {
namespace {

TEST(TokenBucket, ABurstPassesAndTheRestComesAtTheRate) {
  ManualClock clock;
  TokenBucket bucket(10, 3, clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take_ns(), 0);
  EXPECT_EQ(bucket.take_ns(), 100'000'000);
  EXPECT_EQ(bucket.take_ns(), 200'000'000);
  clock.advance(std::chrono::milliseconds(300));
  EXPECT_EQ(bucket.take_ns(), 0);
}

TEST(TokenBucket, ANegativeRateIsNoLimit) {
  ManualClock clock;
  TokenBucket bucket(-1, 0, clock);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.take_ns(), 0);
}

TEST(Inflate, UnpacksHoweverTheStreamIsCut) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i);
  const std::string packed = gzip(text);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, packed.size()}) {
    Inflate inflate;
    std::string out;
    for (std::size_t at = 0; at < packed.size(); at += piece)
      ASSERT_TRUE(inflate.add(std::string_view(packed).substr(at, piece), out).ok());
    EXPECT_EQ(out, text);
    EXPECT_TRUE(inflate.complete());
  }
  Inflate inflate;
  std::string out;
  EXPECT_FALSE(inflate.add("this is no gzip", out).ok());
}

TEST(Credentials, ATokenFileIsReadAgainAndItsLastGoodTokenIsKept) {
  const std::string path = testing::TempDir() + "berth_token_" + std::to_string(::getpid());
  std::ofstream(path) << "one\n";
  ClientConfig config;
  config.server = *parse_url("https://localhost:1", "https");
  config.auth.token = "unused";
  config.auth.token_file = path;
  ManualClock clock;
  Credentials credentials(config, clock);
  EXPECT_EQ(credentials.current()->authorization, "Bearer one");
  std::ofstream(path) << "two";
  EXPECT_EQ(credentials.current()->authorization, "Bearer one");
  clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(credentials.current()->authorization, "Bearer two");
  std::remove(path.c_str());
  clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(credentials.current()->authorization, "Bearer two");
}

TEST(Credentials, NothingSecretGoesToAServerWithoutTls) {
  ClientConfig config;
  config.server = *parse_url("http://localhost:1", "http");
  config.auth.token = "secret";
  ManualClock clock;
  EXPECT_EQ(Credentials(config, clock).current()->authorization, "");
}

}  // namespace
}  // namespace berth::cluster::kube
