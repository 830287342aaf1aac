// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "net/dialer.hpp"
#include "net/tls.hpp"
#include "net/wire/byte_stream.hpp"
#include "net/wire/record_limit.hpp"

// Internal to HTTP clients.
namespace berth::net {

/// One HTTP/1.1 connection to the server of an endpoint, through its proxy if it has one.
/// Threads: one coroutine at a time, on the executor that it was made with.
class Connection {
 public:
  using Tls = beast::ssl_stream<beast::tcp_stream>;
  /// Another's TLS stream as asio wants to have what is below one.
  struct Below {
    using executor_type = Tls::executor_type;
    using next_layer_type = Tls;
    using lowest_layer_type = beast::tcp_stream;
    Tls& stream;
    executor_type get_executor() noexcept { return stream.get_executor(); }
    Tls& next_layer() noexcept { return stream; }
    const Tls& next_layer() const noexcept { return stream; }
    lowest_layer_type& lowest_layer() { return stream.next_layer(); }
    const lowest_layer_type& lowest_layer() const { return stream.next_layer(); }
    template <typename Buffers, typename Handler>
    auto async_read_some(const Buffers& buffers, Handler&& handler) {
      return stream.async_read_some(buffers, std::forward<Handler>(handler));
    }
    template <typename Buffers, typename Handler>
    auto async_write_some(const Buffers& buffers, Handler&& handler) {
      return stream.async_write_some(buffers, std::forward<Handler>(handler));
    }
  };
  using TlsInTlsBytes = BytesOver<asio::ssl::stream<Below>>;

  /// Resolves, connects, shakes hands; each takes its time, but all of it no longer than until `end`.
  /// Fails with ErrorCode::unreachable.
  static asio::awaitable<Result<std::unique_ptr<Connection>>> open(std::shared_ptr<Endpoint> endpoint,
                                                                   Identity identity, Deadline end = Deadline::max());

  /// What HTTP is spoken on.
  ByteStream& bytes() noexcept;
  beast::tcp_stream& socket() noexcept { return bytes().socket(); }
  beast::flat_buffer& buffer() noexcept { return buffer_; }
  /// Before the bytes of each request: what the other side may send besides the answer is counted from here on.
  void begin_request() noexcept;
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// False when the server has closed it while it was idle, or has sent something that was not asked for: a farewell of
  /// TLS or an answer 408, as a rule.
  bool is_alive();
  bool used = false;               // some request was answered on it
  std::int64_t idle_since_ns = 0;  // by the endpoint's clock

 private:
  Connection(asio::any_io_executor executor, const Endpoint::Current& tls);
  asio::awaitable<Status> connect(const Endpoint& endpoint, Deadline end);
  template <typename Stream>
  asio::awaitable<Status> shake_hands(Stream& stream, RecordLimit& records, const TlsOptions& options, const Url& whom,
                                      Deadline end);

  std::shared_ptr<Endpoint::Tls> context_;
  const std::uint64_t epoch_;
  RecordLimit records_, inner_records_;  // of which tls_ and inner_ tell
  std::unique_ptr<PlainBytes> plain_;
  std::unique_ptr<TlsBytes> tls_;         // to the server, or to a proxy that is spoken to through TLS
  std::unique_ptr<TlsInTlsBytes> inner_;  // to the server through that proxy
  beast::flat_buffer buffer_;
};

}  // namespace berth::net
