// SPDX-License-Identifier: Apache-2.0
#include "bench/relay.hpp"

#include <mutex>
#include <vector>

#include "net/asio.hpp"

namespace berth::bench {

namespace {
constexpr std::chrono::milliseconds k_stretch{10};
}

struct Relay::State {
  explicit State(std::uint16_t port) : to(asio::ip::make_address("127.0.0.1"), port) {
    const asio::ip::tcp::endpoint any(asio::ip::make_address("127.0.0.1"), 0);
    acceptor.open(any.protocol());
    acceptor.bind(any);
    acceptor.listen();
    own_port = acceptor.local_endpoint().port();
    asio::co_spawn(threads.context().io, accept(), net::end_of_coroutine);
  }

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor.async_accept(net::k_await);
      if (error) co_return;
      auto client = std::make_shared<asio::ip::tcp::socket>(std::move(socket));
      auto server = std::make_shared<asio::ip::tcp::socket>(threads.context().io);
      auto [refused] = co_await server->async_connect(to, net::k_await);
      if (refused) continue;
      client->set_option(asio::ip::tcp::no_delay(true));
      server->set_option(asio::ip::tcp::no_delay(true));
      asio::co_spawn(threads.context().io, pass(client, server, false), net::end_of_coroutine);
      asio::co_spawn(threads.context().io, pass(server, client, true), net::end_of_coroutine);
    }
  }

  asio::awaitable<void> pass(std::shared_ptr<asio::ip::tcp::socket> from, std::shared_ptr<asio::ip::tcp::socket> into,
                             bool back) {
    std::vector<char> piece(256 * 1024);
    for (;;) {
      auto [error, size] = co_await from->async_read_some(asio::buffer(piece), net::k_await);
      if (error) break;
      if (back) note(size);
      auto [broken, written] = co_await asio::async_write(*into, asio::buffer(piece.data(), size), net::k_await);
      if (broken) break;
    }
    boost::system::error_code ignored;
    into->shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    from->shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }

  void note(std::size_t size) {
    const auto stretch = static_cast<std::size_t>((std::chrono::steady_clock::now() - started) / k_stretch);
    const std::lock_guard lock(mutex);
    if (back_bytes.size() <= stretch) back_bytes.resize(stretch + 1);
    back_bytes[stretch] += size;
    total += size;
  }

  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  const asio::ip::tcp::endpoint to;
  net::IoThreads threads{1};
  asio::ip::tcp::acceptor acceptor{threads.context().io};
  std::uint16_t own_port = 0;
  std::mutex mutex;                       // guards both below
  std::vector<std::uint64_t> back_bytes;  // by stretch of time
  std::uint64_t total = 0;
};

Relay::Relay(std::uint16_t to_port) : state_(std::make_unique<State>(to_port)) {}
Relay::~Relay() { state_->threads.stop(); }
std::uint16_t Relay::port() const noexcept { return state_->own_port; }

std::uint64_t Relay::bytes_back() const {
  const std::lock_guard lock(state_->mutex);
  return state_->total;
}

std::optional<std::chrono::steady_clock::time_point> Relay::end_of_flood(std::chrono::steady_clock::time_point until,
                                                                         double bytes_per_s) const {
  const std::lock_guard lock(state_->mutex);
  const double enough = bytes_per_s * std::chrono::duration<double>(k_stretch).count();
  for (std::size_t i = state_->back_bytes.size(); i-- > 0;) {
    const auto end = state_->started + k_stretch * static_cast<std::int64_t>(i + 1);
    if (end <= until && static_cast<double>(state_->back_bytes[i]) >= enough) return end;
  }
  return std::nullopt;
}

}  // namespace berth::bench
