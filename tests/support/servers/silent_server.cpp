// SPDX-License-Identifier: Apache-2.0
#include "support/servers/silent_server.hpp"

#include <array>
#include <condition_variable>
#include <mutex>

#include "net/io_threads.hpp"
#include "support/servers/loopback.hpp"

namespace berth::tests {

struct SilentServer::State {
  State() {
    authority = "127.0.0.1:" + std::to_string(listen_on_loopback(acceptor));
    asio::io_context& io = threads.context().io;
    const auto note = [this] {
      const std::lock_guard lock(mutex);
      arrived.push_back(std::chrono::steady_clock::now());
      changed.notify_all();
    };
    asio::co_spawn(io, serve_connections(io, acceptor, nullptr, listen_only, note), net::end_of_coroutine);
  }

  static asio::awaitable<void> listen_only(std::shared_ptr<net::ByteStream> client) {
    std::array<char, 4096> heard;
    for (;;) {
      const net::ByteStream::Moved read = co_await client->read_some(asio::buffer(heard));
      if (read.error) co_return;
    }
  }

  net::IoThreads threads{1};
  asio::ip::tcp::acceptor acceptor{threads.context().io};
  std::string authority;
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::vector<std::chrono::steady_clock::time_point> arrived;
};

SilentServer::SilentServer() : state_(std::make_unique<State>()) {}
SilentServer::~SilentServer() { state_->threads.stop(); }
const std::string& SilentServer::authority() const noexcept { return state_->authority; }

std::vector<std::chrono::steady_clock::time_point> SilentServer::await_connections(std::size_t count) const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, std::chrono::seconds(30), [&] { return state_->arrived.size() >= count; });
  return state_->arrived;
}

}  // namespace berth::tests
