// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/lease/reign.hpp"

#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
using namespace std::chrono_literals;

constexpr std::int64_t k_s = 1'000'000'000;

TEST(ReignOverTime, NoReplicaReignsBeforeTheBeginning) {
  const ManualClock clock{};
  const Reign reign(clock, 10 * k_s);
  EXPECT_FALSE(reign.holds());
  EXPECT_EQ(reign.ticket(), 0U);
  EXPECT_FALSE(reign.admits(0));
}

TEST(ReignOverTime, CountsFromTheRequestThatWonIt) {
  ManualClock clock;
  Reign reign(clock, 10 * k_s);
  clock.advance(4s);
  EXPECT_TRUE(reign.begin(0));
  clock.advance(5s);
  EXPECT_TRUE(reign.holds());
  clock.advance(1s);
  EXPECT_FALSE(reign.holds());
  EXPECT_EQ(reign.left_ns(), 0);
}

TEST(ReignOverTime, AnAnswerThatComesTooLateBeginsNothing) {
  ManualClock clock;
  Reign reign(clock, 10 * k_s);
  clock.advance(10s);
  EXPECT_FALSE(reign.begin(0));
  EXPECT_FALSE(reign.holds());
}

TEST(ReignOverTime, ARenewalPutsTheEndOff) {
  ManualClock clock;
  Reign reign(clock, 10 * k_s);
  ASSERT_TRUE(reign.begin(0));
  const std::uint64_t ticket = reign.ticket();
  clock.advance(9s);
  EXPECT_TRUE(reign.confirm(8 * k_s));
  EXPECT_EQ(reign.left_ns(), 9 * k_s);
  clock.advance(8s);
  EXPECT_TRUE(reign.admits(ticket)) << "it is the same reign";
}

TEST(ReignOverTime, IsNotRevivedByARenewalThatWasAnsweredAfterItsEnd) {
  ManualClock clock;
  Reign reign(clock, 10 * k_s);
  ASSERT_TRUE(reign.begin(0));
  clock.advance(11s);
  EXPECT_FALSE(reign.confirm(9 * k_s));
  EXPECT_FALSE(reign.holds());
}

TEST(ReignOverTime, WhatWasDecidedInOneReignIsNotWrittenInTheNext) {
  ManualClock clock;
  Reign reign(clock, 10 * k_s);
  ASSERT_TRUE(reign.begin(0));
  const std::uint64_t ticket = reign.ticket();
  EXPECT_TRUE(reign.admits(ticket));
  clock.advance(30s);
  ASSERT_TRUE(reign.begin(30 * k_s));
  EXPECT_FALSE(reign.admits(ticket));
  EXPECT_TRUE(reign.admits(reign.ticket()));
}

TEST(ReignOverTime, IsOverOnceItWasEnded) {
  ManualClock clock;
  Reign reign(clock, 10 * k_s);
  reign.begin_without_lease();
  clock.advance(std::chrono::hours(10'000));
  EXPECT_TRUE(reign.admits(reign.ticket()));
  reign.end();
  EXPECT_FALSE(reign.holds());
  EXPECT_FALSE(reign.begin(clock.monotonic_ns()));
}

/// A client whose writes need a reign.
class WritesOfAReign : public testing::Test {
 protected:
  WritesOfAReign() {
    server.create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
    net::HttpClientOptions options;
    options.fence = reign;
    options.connections_max = 1;
    client.emplace(threads, endpoint_of(server, system), options);
  }
  static net::Request write(const std::string& name) {
    net::Request out;
    out.method = net::Method::post;
    out.target = "/api/v1/namespaces/default/pods";
    out.body = pod_json(name);
    out.retry = {5, std::chrono::milliseconds(1)};
    return out;
  }
  void expect_stopped(const Result<net::Response>& answer) {
    ASSERT_FALSE(answer.ok()) << answer->status;
    EXPECT_EQ(answer.error().code, ErrorCode::stopped) << answer.error().message;
  }

  ApiServer server;
  SystemClock system;
  ManualClock clock;
  std::shared_ptr<Reign> reign = std::make_shared<Reign>(clock, 10 * k_s);
  net::IoThreads threads{1};
  std::optional<net::HttpClient> client;
};

TEST_F(WritesOfAReign, AreSentWhileItHolds) {
  expect_stopped(ask(*client, write("before")));
  ASSERT_TRUE(reign->begin(0));
  const Result<net::Response> answer = ask(*client, write("a"));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  clock.advance(10s);  // as after a pause of the process, or of the machine
  expect_stopped(ask(*client, write("b")));
  ASSERT_EQ(server.writes().size(), 1U);
}

TEST_F(WritesOfAReign, AreDroppedWhenTheReignEndsBeforeTheyAreSent) {
  ASSERT_TRUE(reign->begin(0));
  // The only connection is taken by a read that is not answered.
  Faults faults;
  faults.unanswered = 1;
  server.inject(faults);
  net::Request read;
  read.target = "/api/v1/namespaces/default/pods";
  read.timeout = std::chrono::seconds(2);
  read.timeout_of_all = true;
  client->send(read, [](const Result<net::Response>&) {});
  auto waited = std::make_shared<std::promise<Result<net::Response>>>();
  auto answer = waited->get_future();
  client->send(write("queued"), [waited](Result<net::Response> r) { waited->set_value(std::move(r)); });
  server.inject({});
  clock.advance(30s);
  // A reign that begins later does not take it up either.
  ASSERT_TRUE(reign->begin(30 * k_s));
  ASSERT_EQ(answer.wait_for(k_patience), std::future_status::ready);
  expect_stopped(answer.get());
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(WritesOfAReign, AreHeldBackWhileReadsAreSent) {
  net::Request read;
  read.target = "/api/v1/namespaces/default/pods";
  const Result<net::Response> answer = ask(*client, read);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
}

}  // namespace
}  // namespace berth::tests
