// SPDX-License-Identifier: Apache-2.0
#include "net/token_bucket.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/utf8.hpp"
#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/read/silence_limit.hpp"
#include "net/gzip.hpp"

namespace berth::cluster::kube {
namespace {

TEST(TokenBucket, ABurstPassesAndTheRestComesAtTheRate) {
  ManualClock clock;
  net::TokenBucket bucket(10, 3, clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.take_ns(), 0);
  EXPECT_EQ(bucket.take_ns(), 100'000'000);
  EXPECT_EQ(bucket.take_ns(), 200'000'000);
  clock.advance(std::chrono::milliseconds(300));
  EXPECT_EQ(bucket.take_ns(), 0);
}

TEST(TokenBucket, ANegativeRateIsNoLimit) {
  ManualClock clock;
  net::TokenBucket bucket(-1, 0, clock);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.take_ns(), 0);
}

TEST(Inflate, UnpacksHoweverTheStreamIsCut) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i);
  const std::string packed = net::gzip(text);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, packed.size()}) {
    for (const std::size_t bytes_max : {std::size_t{1}, std::size_t{20'000}, text.size() + 1}) {
      net::Inflate inflate;
      std::string out;
      for (std::size_t at = 0; at < packed.size(); at += piece) {
        std::string_view rest = std::string_view(packed).substr(at, piece);
        do {
          const std::size_t before = out.size();
          ASSERT_TRUE(inflate.add(rest, out, bytes_max).ok());
          ASSERT_LE(out.size() - before, bytes_max);
        } while (!rest.empty() || inflate.has_more());
      }
      EXPECT_EQ(out, text);
      EXPECT_TRUE(inflate.complete());
    }
  }
  net::Inflate inflate;
  std::string out;
  std::string_view no_gzip = "this is no gzip";
  EXPECT_FALSE(inflate.add(no_gzip, out, 100).ok());
}

TEST(Credentials, ATokenFileIsReadAgainAndItsLastGoodTokenIsKept) {
  const std::string path = testing::TempDir() + "berth_token_" + std::to_string(::getpid());
  std::ofstream(path) << "one\n";
  ClientConfig config;
  config.server = *net::parse_url("https://localhost:1", "https");
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

TEST(Credentials, WhiteSpaceAroundATokenIsNoPartOfIt) {
  const std::string path = testing::TempDir() + "berth_white_token_" + std::to_string(::getpid());
  ClientConfig config;
  config.server = *net::parse_url("https://localhost:1", "https");
  config.auth.token_file = path;
  for (const auto& [text, header] :
       {std::pair{"\n\t one \r\n\v\f", "Bearer one"}, std::pair{"\xC2\xA0two\xE2\x80\xA8\n", "Bearer two"},
        std::pair{"thr\xC3\xA9\xC3\xA0", "Bearer thr\xC3\xA9\xC3\xA0"}, std::pair{" \n", ""}}) {
    std::ofstream(path) << text;
    ManualClock clock;
    EXPECT_EQ(Credentials(config, clock).current()->authorization, header);
  }
  std::ofstream(path) << std::string(2 << 20, 'x');
  ManualClock clock;
  EXPECT_EQ(Credentials(config, clock).current()->authorization, "") << "no token has 2 MiB";
  std::remove(path.c_str());
}

TEST(SilenceLimit, IsOverOnlyWhenNothingWasHeardForItsTime) {
  ManualClock clock;
  SilenceLimit limit(clock, std::chrono::seconds(150));
  EXPECT_EQ(limit.left(), std::chrono::seconds(150));
  clock.advance(std::chrono::seconds(149));
  limit.heard();
  clock.advance(std::chrono::seconds(149));
  EXPECT_EQ(limit.left(), std::chrono::seconds(1));
  clock.advance(std::chrono::nanoseconds(999'999'999));
  EXPECT_EQ(limit.left(), std::chrono::milliseconds(1)) << "not before it is over";
  clock.advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(limit.left().count(), 0);
}

TEST(Excerpt, IsTheBeginningCutBetweenTwoCharacters) {
  EXPECT_EQ(excerpt("short"), "short");
  EXPECT_EQ(excerpt(std::string(1024, 'a')), std::string(1024, 'a'));
  for (std::size_t before = 0; before < 4; ++before) {
    std::string text(before, 'a');
    while (text.size() < 20'000) text += "\xF0\x9F\x9A\xA2";
    const std::string cut = excerpt(text);
    EXPECT_LE(cut.size(), 1024U);
    EXPECT_GT(cut.size(), 1000U);
    EXPECT_EQ(find_invalid_utf8(cut), std::string::npos);
    EXPECT_NE(cut.find(" bytes)"), std::string::npos);
  }
}

TEST(Credentials, NothingSecretGoesToAServerWithoutTls) {
  ClientConfig config;
  config.server = *net::parse_url("http://localhost:1", "http");
  config.auth.token = "secret";
  ManualClock clock;
  EXPECT_EQ(Credentials(config, clock).current()->authorization, "");
}

}  // namespace
}  // namespace berth::cluster::kube
