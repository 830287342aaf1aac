// SPDX-License-Identifier: Apache-2.0
#include "net/connection.hpp"

#include <netinet/tcp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "net/http_message.hpp"
#include "observe/log.hpp"

namespace berth::net {
namespace {

using boost::system::error_code;
constexpr std::chrono::seconds k_dial_limit{30};
constexpr std::chrono::seconds k_handshake_limit{10};

Deadline within(std::chrono::seconds limit, Deadline end) {
  return std::min(end, std::chrono::steady_clock::now() + limit);
}

Error unreachable(const Url& server, std::string_view step, const std::string& why) {
  return {fmt::format("{}://{}: {}: {}", server.scheme, server.authority(), step, why), ErrorCode::unreachable};
}

/// A silent network is noticed after about a minute: 30 seconds of quiet, then three probes.
void keep_alive(asio::ip::tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int idle_s = 30, between_s = 10, probes = 3, unanswered_ms = 60'000;
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

asio::awaitable<Status> dial(beast::tcp_stream& stream, Addresses& addresses, const Url& to, Deadline end) {
  const Deadline until = within(k_dial_limit, end);
  const Result<Addresses::List> found = co_await addresses.look_up(until);
  if (!found.ok()) co_return unreachable(to, "resolve", found.error().message);
  const error_code error = co_await connect_in_turn(stream, *found, until);
  if (error) co_return unreachable(to, "connect", error.message());
  keep_alive(stream.socket());
  co_return Unit{};
}

asio::awaitable<Status> connect_through_http(ByteStream& stream, const Url& proxy, const Url& server, Deadline end) {
  http::request<http::string_body> request(http::verb::connect, server.authority(), 11);
  request.set(http::field::host, server.authority());
  if (proxy.has_user()) request.set(http::field::proxy_authorization, proxy.basic_authorization());
  stream.socket().expires_at(within(k_dial_limit, end));
  const std::string question = bytes_of(request);
  const ByteStream::Moved sent = co_await stream.write(asio::buffer(question));
  if (sent.error) co_return unreachable(proxy, "proxy", sent.error.message());
  http::response_parser<http::empty_body> parser;
  parser.skip(true);
  beast::flat_buffer buffer;
  const ByteStream::Moved read = co_await read_message(stream, buffer, parser, Until::header);
  if (read.error) co_return unreachable(proxy, "proxy", read.error.message());
  if (parser.get().result_int() != 200)
    co_return unreachable(proxy, "proxy", fmt::format("it answered {}", parser.get().result_int()));
  co_return Unit{};
}

std::string socks_method(bool password) { return std::string("\x05\x01", 2) + (password ? '\x02' : '\x00'); }

std::string socks_login(const Url& proxy) {
  std::string out("\x01", 1);
  out += static_cast<char>(proxy.user.size());
  out += proxy.user;
  out += static_cast<char>(proxy.password.size());
  return out += proxy.password;
}

std::string socks_connect(const Url& server) {
  std::string out("\x05\x01\x00\x03", 4);
  out += static_cast<char>(server.host.size());
  out += server.host;
  out += static_cast<char>(server.port >> 8);
  return out += static_cast<char>(server.port & 0xff);
}

/// RFC 1928 with RFC 1929: the proxy resolves the name.
asio::awaitable<Status> connect_through_socks(beast::tcp_stream& stream, const Url& proxy, const Url& server,
                                              Deadline end) {
  stream.expires_at(within(k_dial_limit, end));
  const bool password = !proxy.user.empty();
  if (server.host.size() > 255 || proxy.user.size() > 255 || proxy.password.size() > 255)
    co_return unreachable(proxy, "proxy", "names longer than 255 bytes cannot be sent through SOCKS");
  const auto ask = [&stream](std::string question, std::size_t answer_size) -> asio::awaitable<Result<std::string>> {
    auto [write_error, written] = co_await asio::async_write(stream, asio::buffer(question), k_await);
    if (write_error) co_return Error{write_error.message()};
    std::string answer(answer_size, '\0');
    auto [read_error, read] = co_await asio::async_read(stream, asio::buffer(answer), k_await);
    if (read_error) co_return Error{read_error.message()};
    co_return answer;
  };
  Result<std::string> method = co_await ask(socks_method(password), 2);
  if (!method.ok()) co_return unreachable(proxy, "proxy", method.error().message);
  if ((*method)[1] != (password ? '\x02' : '\x00')) co_return unreachable(proxy, "proxy", "it wants another log-in");
  if (password) {
    Result<std::string> accepted = co_await ask(socks_login(proxy), 2);
    if (!accepted.ok()) co_return unreachable(proxy, "proxy", accepted.error().message);
    if ((*accepted)[1] != 0) co_return unreachable(proxy, "proxy", "it refused the log-in");
  }
  Result<std::string> answer = co_await ask(socks_connect(server), 5);
  if (!answer.ok()) co_return unreachable(proxy, "proxy", answer.error().message);
  if ((*answer)[1] != 0)
    co_return unreachable(proxy, "proxy", fmt::format("it answered {}", static_cast<int>((*answer)[1])));
  // The rest is the address it connected from; its size depends on the kind of address.
  const std::size_t address = (*answer)[3] == 1   ? 4
                              : (*answer)[3] == 4 ? 16
                                                  : static_cast<unsigned char>((*answer)[4]) + 1U;
  Result<std::string> rest = co_await ask(std::string(), address + 2 - 1);
  if (!rest.ok()) co_return unreachable(proxy, "proxy", rest.error().message);
  co_return Unit{};
}

}  // namespace

Connection::Connection(asio::any_io_executor executor, const Endpoint::Current& tls)
    : context_(tls.tls), epoch_(tls.epoch) {
  if (context_)
    tls_ = std::make_unique<TlsBytes>(beast::tcp_stream(executor), context_->context);
  else
    plain_ = std::make_unique<PlainBytes>(executor);
}

/// `whom`: the server, or the proxy, which is judged by the same authority.
template <typename Stream>
asio::awaitable<Status> Connection::shake_hands(Stream& stream, RecordLimit& records, const TlsOptions& options,
                                                const Url& whom, Deadline end) {
  const std::string& name = options.server_name.empty() ? whom.host : options.server_name;
  error_code is_name;
  asio::ip::make_address(name, is_name);
  SSL* const tls = stream.native_handle();
  if (is_name) SSL_set_tlsext_host_name(tls, name.c_str());
  static constexpr std::string_view k_http_11{"\x08http/1.1"};  // as ALPN writes it
  SSL_set_alpn_protos(tls, reinterpret_cast<const unsigned char*>(k_http_11.data()),
                      static_cast<unsigned int>(k_http_11.size()));
  if (!options.insecure) stream.set_verify_callback(asio::ssl::host_name_verification(name));
  socket().expires_at(within(k_handshake_limit, end));
  auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::client, k_await);
  if (error) {
    std::string why = error.message();
    const long verified = SSL_get_verify_result(tls);
    if (!options.insecure && verified != X509_V_OK)
      why = fmt::format("its certificate is not valid for {}: {}", name, X509_verify_cert_error_string(verified));
    co_return unreachable(whom, "TLS", why);
  }
  records.watch(tls, [this, authority = whom.authority()] {
    observe::warning("A server renews TLS keys or handshakes without end: its connection is closed",
                     {{"server", authority}});
    socket().close();
  });
  co_return Unit{};
}

ByteStream& Connection::bytes() noexcept {
  if (inner_) return *inner_;
  if (tls_) return *tls_;
  return *plain_;
}

asio::awaitable<Result<std::unique_ptr<Connection>>> Connection::open(std::shared_ptr<Endpoint> endpoint,
                                                                      Identity identity, Deadline end) {
  const Result<Endpoint::Current> tls = endpoint->tls(identity);
  if (!tls.ok()) co_return Error{tls.error().message, ErrorCode::unreachable};
  std::unique_ptr<Connection> out(new Connection(co_await asio::this_coro::executor, *tls));
  const Status done = co_await out->connect(*endpoint, end);
  if (!done.ok()) co_return done.error();
  out->socket().expires_never();
  co_return std::move(out);
}

asio::awaitable<Status> Connection::connect(const Endpoint& endpoint, Deadline end) {
  const Url& server = endpoint.server();
  const TlsOptions& options = endpoint.tls_options();
  const std::optional<Url>& proxy = endpoint.proxy();
  Status done = co_await dial(socket(), endpoint.addresses(), proxy ? *proxy : server, end);
  if (done.ok() && proxy) {
    if (proxy->secure()) done = co_await shake_hands(tls_->stream, records_, options, *proxy, end);
    if (!done.ok() || endpoint.is_forwarded()) co_return done;
    if (proxy->scheme == "socks5") {
      done = co_await connect_through_socks(socket(), *proxy, server, end);
    } else if (proxy->secure()) {
      done = co_await connect_through_http(*tls_, *proxy, server, end);
    } else {
      BytesOver<beast::tcp_stream&> below_tls(socket());
      done = co_await connect_through_http(below_tls, *proxy, server, end);
    }
  }
  if (!done.ok() || !server.secure()) co_return done;
  if (proxy && proxy->secure()) {
    inner_ = std::make_unique<TlsInTlsBytes>(Below{tls_->stream}, context_->context);
    done = co_await shake_hands(inner_->stream, inner_records_, options, server, end);
  } else {
    done = co_await shake_hands(tls_->stream, records_, options, server, end);
  }
  co_return done;
}

void Connection::begin_request() noexcept {
  records_.begin_request();
  inner_records_.begin_request();
}

bool Connection::is_alive() {
  char byte = 0;
  const ssize_t size = ::recv(socket().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return buffer_.size() == 0 && size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace berth::net
