// SPDX-License-Identifier: Apache-2.0
#include "serving/https_server.hpp"

#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <thread>

#include "base/percent_decoding.hpp"

namespace berth::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
constexpr auto k_await = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t k_thread_count = 4;
constexpr std::chrono::seconds k_header_limit{32}, k_idle_limit{90};
constexpr std::uint32_t k_header_bytes_max = 1 << 20;
constexpr std::uint64_t k_body_bytes_max = 1 << 20;

template <typename Message>
std::string header(const Message& message, http::field field) {
  return std::string(message[field].data(), message[field].size());
}

Ask ask_of(const http::request<http::string_body>& request) {
  Ask out;
  out.method = std::string(request.method_string());
  const std::string target(request.target());
  const std::size_t question = std::min(target.find('?'), target.size());
  out.path = percent_decode(std::string_view(target).substr(0, question));
  for (std::size_t start = question + 1; start < target.size();) {
    const std::size_t end = std::min(target.find('&', start), target.size());
    const std::string_view pair = std::string_view(target).substr(start, end - start);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    out.query.emplace_back(percent_decode(pair.substr(0, equals)), equals < pair.size() ? percent_decode(pair.substr(equals + 1)) : "");
    start = end + 1;
  }
  out.authorization = header(request, http::field::authorization);
  out.accept = header(request, http::field::accept);
  out.body = request.body();
  return out;
}

}  // namespace

bool Ask::has(std::string_view key) const {
  return std::any_of(query.begin(), query.end(), [&](const auto& pair) { return pair.first == key; });
}

struct HttpsServer::State {
  State(std::vector<Route> table, Gate access)
      : routes(std::move(table)), gate(std::move(access)), acceptor(io), tls(asio::ssl::context::tls_server) {}

  Status listen(const HttpsServerOptions& options);
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);
  Reply answer(const Ask& ask) const;

  const std::vector<Route> routes;
  const Gate gate;
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor;
  asio::ssl::context tls;
  std::vector<std::thread> threads;
};

Status HttpsServer::State::listen(const HttpsServerOptions& options) {
  boost::system::error_code error;
  tls.use_certificate_chain(asio::buffer(options.keys.certificate), error);
  if (error) return Error{"the serving certificate cannot be used: " + error.message()};
  tls.use_private_key(asio::buffer(options.keys.key), asio::ssl::context::pem, error);
  if (error) return Error{"the serving key cannot be used: " + error.message()};
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);

  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) return Error{fmt::format("\"{}\" is no address to serve on", options.address)};
  const asio::ip::tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Error{fmt::format("cannot serve on {}:{}: {}", options.address, options.port, error.message())};
  asio::co_spawn(io, accept(), asio::detached);
  for (std::size_t i = 0; i < k_thread_count; ++i) threads.emplace_back([this] { io.run(); });
  return Unit{};
}

asio::awaitable<void> HttpsServer::State::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(asio::any_io_executor(asio::make_strand(io)), k_await);
    if (error == asio::error::operation_aborted) co_return;
    if (error) continue;
    auto executor = socket.get_executor();
    asio::co_spawn(executor, serve(std::move(socket)), asio::detached);
  }
}

Reply HttpsServer::State::answer(const Ask& ask) const {
  const Route* best = nullptr;
  for (const Route& route : routes) {
    const bool below = route.path.ends_with('/') && ask.path.starts_with(route.path);
    if ((below || ask.path == route.path) && (best == nullptr || route.path.size() > best->path.size())) best = &route;
  }
  try {
    // Who may not ask learns nothing of what is there.
    if (gate)
      if (std::optional<Reply> refusal = gate(ask)) return std::move(*refusal);
    if (best == nullptr) return {404, "404 page not found\n"};
    return best->handler(ask);
  } catch (const std::exception& e) {
    spdlog::error("{} {}: {}", ask.method, ask.path, e.what());
    return {500, "internal server error\n"};
  }
}

asio::awaitable<void> HttpsServer::State::serve(asio::ip::tcp::socket socket) {
  beast::ssl_stream<beast::tcp_stream> stream(beast::tcp_stream(std::move(socket)), tls);
  beast::get_lowest_layer(stream).expires_after(k_header_limit);
  auto [shake_error] = co_await stream.async_handshake(asio::ssl::stream_base::server, k_await);
  if (shake_error) co_return;
  beast::flat_buffer buffer;
  for (bool goes_on = true; goes_on;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(k_header_bytes_max);
    parser.body_limit(k_body_bytes_max);
    beast::get_lowest_layer(stream).expires_after(k_idle_limit);
    auto [read_error, read] = co_await http::async_read(stream, buffer, parser, k_await);
    if (read_error) co_return;
    const http::request<http::string_body> request = parser.release();
    Reply reply = answer(ask_of(request));
    http::response<http::string_body> response(static_cast<http::status>(reply.status), request.version());
    response.set(http::field::content_type, reply.content_type);
    response.set(http::field::cache_control, "no-cache, private");
    response.set("X-Content-Type-Options", "nosniff");
    response.keep_alive(request.keep_alive());
    response.body() = std::move(reply.body);
    response.prepare_payload();
    if (request.method() == http::verb::head) response.body().clear();
    beast::get_lowest_layer(stream).expires_after(k_header_limit);
    auto [write_error, written] = co_await http::async_write(stream, response, k_await);
    goes_on = !write_error && response.keep_alive();
  }
}

HttpsServer::HttpsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<HttpsServer>> HttpsServer::make(HttpsServerOptions options, std::vector<Route> routes,
                                                       Gate gate) {
  std::unique_ptr<HttpsServer> server(new HttpsServer(std::make_unique<State>(std::move(routes), std::move(gate))));
  if (const Status listening = server->state_->listen(options); !listening.ok()) return listening.error();
  return server;
}

HttpsServer::~HttpsServer() {
  state_->io.stop();
  for (std::thread& thread : state_->threads) thread.join();
}

std::uint16_t HttpsServer::port() const noexcept {
  boost::system::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

}  // namespace berth::serving
