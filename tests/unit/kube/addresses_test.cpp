// SPDX-License-Identifier: Apache-2.0
#include "net/dialer.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "support/servers/loopback.hpp"

namespace berth::tests {
namespace {

using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Listens, and has room for no connection.
class FullListener {
 public:
  explicit FullListener(asio::io_context& io) : acceptor_(io), filler_(io) {
    const asio::ip::tcp::endpoint any(asio::ip::make_address("127.0.0.1"), 0);
    acceptor_.open(any.protocol());
    acceptor_.bind(any);
    acceptor_.listen(0);
    filler_.connect(address());
  }
  asio::ip::tcp::endpoint address() const { return acceptor_.local_endpoint(); }

 private:
  asio::ip::tcp::acceptor acceptor_;
  asio::ip::tcp::socket filler_;  // waits to be accepted for ever
};

struct Connected {
  error_code error;
  asio::ip::tcp::endpoint to;
};

Connected connect(asio::io_context& io, const net::Addresses::List& addresses, milliseconds time) {
  Connected out;
  beast::tcp_stream stream(io);
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        out.error =
            co_await net::connect_in_turn(stream, addresses, std::chrono::steady_clock::now() + time, milliseconds(1));
      },
      net::end_of_coroutine);
  io.run();
  if (!out.error) out.to = stream.socket().remote_endpoint();
  return out;
}

TEST(ConnectInTurn, AnAddressThatIsSilentLeavesTimeForTheNext) {
  asio::io_context io;
  const FullListener silent(io);
  asio::ip::tcp::acceptor living(io);
  listen_on_loopback(living);
  const Connected connected = connect(io, {silent.address(), living.local_endpoint()}, milliseconds(1000));
  EXPECT_FALSE(connected.error) << connected.error.message();
  EXPECT_EQ(connected.to, living.local_endpoint());
}

TEST(ConnectInTurn, AnAddressThatRefusesIsFollowedByTheNextOfWhateverFamily) {
  asio::io_context io;
  asio::ip::tcp::acceptor living(io);
  const std::uint16_t port = listen_on_loopback(living);
  const asio::ip::tcp::endpoint refusing(asio::ip::make_address("::1"), port);
  const Connected connected = connect(io, {refusing, living.local_endpoint()}, milliseconds(30'000));
  EXPECT_FALSE(connected.error) << connected.error.message();
  EXPECT_EQ(connected.to, living.local_endpoint());
}

TEST(ConnectInTurn, NothingIsTriedOnceTheTimeIsOver) {
  asio::io_context io;
  asio::ip::tcp::acceptor living(io);
  listen_on_loopback(living);
  EXPECT_EQ(connect(io, {living.local_endpoint()}, milliseconds(0)).error, beast::error::timeout);
}

TEST(ConnectInTurn, TheTimeIsSharedByThoseThatAreLeft) {
  EXPECT_EQ(net::share_of_time(seconds(30), 3, seconds(2)), seconds(10));
  EXPECT_EQ(net::share_of_time(seconds(3), 3, seconds(2)), seconds(2)) << "taken from the last ones";
  EXPECT_EQ(net::share_of_time(seconds(1), 3, seconds(2)), seconds(1));
}

/// Addresses of a name whose server answers when the test says so.
class NameTest : public testing::Test {
 protected:
  using Answer = net::Addresses::Answer;

  asio::awaitable<Answer> answer_when_told() {
    ++asked;
    co_await told.async_wait(net::k_await);
    co_return next;
  }
  /// Requires: no look-up is under way.
  void keep_waiting() { told.expires_at(net::Deadline::max()); }
  void answer(error_code error, std::vector<std::string> hosts) {
    next.error = error;
    next.list.clear();
    for (const std::string& host : hosts) next.list.emplace_back(asio::ip::make_address(host), 6443);
    told.expires_at(net::Deadline::min());
  }
  /// What a look-up says that may take so long: addresses, or why not. Runs until all that was begun is done.
  std::string look_up(milliseconds time) {
    std::string out;
    asio::co_spawn(io, say(out, time), net::end_of_coroutine);
    run_until([&] { return !out.empty(); });
    return out;
  }
  asio::awaitable<void> say(std::string& out, milliseconds time) {
    const auto found = co_await addresses->look_up(std::chrono::steady_clock::now() + time);
    if (!found.ok()) {
      out = found.error().message;
      co_return;
    }
    for (const auto& one : *found) out += one.address().to_string() + " ";
  }
  template <typename Condition>
  void run_until(Condition&& condition) {
    while (!condition()) io.run_one();
  }
  static std::shared_ptr<net::Addresses> of(const std::string& url, net::Addresses::Lookup lookup,
                                            milliseconds longest_wait = seconds(30)) {
    return std::make_shared<net::Addresses>(*net::parse_url(url, "https"), std::move(lookup), longest_wait);
  }

  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  asio::steady_timer told{io, net::Deadline::max()};
  Answer next;
  int asked = 0;
  std::shared_ptr<net::Addresses> addresses =
      of("https://name", [this](const std::string&, const std::string&) { return answer_when_told(); });
};

const std::string k_late = "the name was not resolved in time";

TEST_F(NameTest, AnAnswerThatIsLateIsAFailureAndServesTheNext) {
  EXPECT_EQ(look_up(milliseconds(20)), k_late);
  EXPECT_EQ(look_up(milliseconds(20)), k_late);
  EXPECT_EQ(asked, 1) << "the first question is still open";
  std::string waiting;
  asio::co_spawn(io, say(waiting, seconds(30)), net::end_of_coroutine);
  answer({}, {"10.0.0.1", "10.0.0.2"});
  run_until([&] { return !waiting.empty(); });
  EXPECT_EQ(waiting, "10.0.0.1 10.0.0.2 ");
}

TEST_F(NameTest, EarlierAddressesAreUsedWhenALookupIsLate) {
  addresses = of(
      "https://name", [this](const std::string&, const std::string&) { return answer_when_told(); }, milliseconds(20));
  answer({}, {"10.0.0.1"});
  EXPECT_EQ(look_up(seconds(30)), "10.0.0.1 ");
  keep_waiting();
  EXPECT_EQ(look_up(seconds(30)), "10.0.0.1 ") << "long before the time is over";
  EXPECT_EQ(asked, 2);
  // The late answer counts from then on.
  answer({}, {"10.0.0.3"});
  EXPECT_EQ(look_up(seconds(30)), "10.0.0.3 ");
}

TEST_F(NameTest, EarlierAddressesAreUsedDuringATemporaryFailure) {
  answer({}, {"10.0.0.1"});
  look_up(seconds(30));
  answer(asio::error::host_not_found_try_again, {});
  EXPECT_EQ(look_up(seconds(30)), "10.0.0.1 ");
  answer(asio::error::host_not_found, {});
  EXPECT_EQ(look_up(seconds(30)), error_code(asio::error::host_not_found).message());
}

TEST_F(NameTest, AnAddressNeedsNoLookup) {
  addresses = of("https://[::1]:6443", [this](const std::string&, const std::string&) { return answer_when_told(); });
  EXPECT_EQ(look_up(milliseconds(0)), "::1 ");
  EXPECT_EQ(asked, 0);
}

TEST_F(NameTest, TheSystemResolvesLocalhost) {
  addresses = of("https://localhost", net::Addresses::look_up_by_system);
  EXPECT_NE(look_up(seconds(30)).find("127.0.0.1"), std::string::npos);
}

}  // namespace
}  // namespace berth::tests
