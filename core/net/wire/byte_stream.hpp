// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <utility>

#include "net/asio.hpp"

// Internal to HTTP clients and test servers.
namespace berth::net {

/// Bytes both ways, whatever lies below: TCP, TLS, TLS within TLS. What speaks HTTP is compiled once instead of for each
/// kind, which Boost.Beast makes dear; the price is a virtual call and a coroutine for each piece.
/// Threads: one coroutine at a time reads, one writes; on the executor of the socket. The limits of time that the socket
/// was given hold for all of it.
class ByteStream {
 public:
  struct Moved {
    boost::system::error_code error;
    std::size_t bytes = 0;  // also with an error: what went before it
  };

  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Waits for at least one byte. asio::error::eof: the other side has ended it.
  virtual asio::awaitable<Moved> read_some(asio::mutable_buffer into) = 0;
  /// All of `bytes`, which have to stay until then.
  virtual asio::awaitable<Moved> write(asio::const_buffer bytes) = 0;
  /// What lies below everything.
  virtual beast::tcp_stream& socket() noexcept = 0;
};

template <typename Stream>
class BytesOver final : public ByteStream {
 public:
  template <typename... Args>
  explicit BytesOver(Args&&... args) : stream(std::forward<Args>(args)...) {}

  asio::awaitable<Moved> read_some(asio::mutable_buffer into) override {
    auto [error, bytes] = co_await stream.async_read_some(into, k_await);
    co_return Moved{error, bytes};
  }
  asio::awaitable<Moved> write(asio::const_buffer bytes) override {
    auto [error, written] = co_await asio::async_write(stream, bytes, k_await);
    co_return Moved{error, written};
  }
  beast::tcp_stream& socket() noexcept override { return beast::get_lowest_layer(stream); }

  Stream stream;
};

using PlainBytes = BytesOver<beast::tcp_stream>;
using TlsBytes = BytesOver<beast::ssl_stream<beast::tcp_stream>>;
extern template class BytesOver<beast::tcp_stream>;
extern template class BytesOver<beast::ssl_stream<beast::tcp_stream>>;

}  // namespace berth::net
