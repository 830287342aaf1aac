// SPDX-License-Identifier: Apache-2.0
#include "serving/https_server.hpp"

#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif

#include <openssl/pem.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <mutex>
#include <thread>

#include "base/lower_case.hpp"
#include "base/percent_decoding.hpp"
#include "observe/log.hpp"
#include "serving/openssl_handles.hpp"
#include "serving/tls_context.hpp"

namespace berth::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
constexpr auto k_await = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t k_thread_count = 4;
constexpr std::size_t k_waiting_thread_count = 8;
constexpr std::chrono::seconds k_header_limit{32}, k_idle_limit{90};
constexpr std::chrono::minutes k_reload_period{1};
constexpr std::uint32_t k_header_bytes_max = 65'000;  // Beast throws on a field of 64 KiB; Go's server takes 1 MiB
constexpr std::uint64_t k_body_bytes_max = 1 << 20;

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
    out.query.emplace_back(percent_decode(pair.substr(0, equals)),
                           equals < pair.size() ? percent_decode(pair.substr(equals + 1)) : "");
    start = end + 1;
  }
  for (const auto& field : request) {
    const auto name = field.name_string();
    out.headers.emplace_back(lower_case({name.data(), name.size()}), std::string(field.value()));
  }
  out.body = request.body();
  return out;
}

std::string pem_of(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  char* text = nullptr;
  const long length = BIO_get_mem_data(memory.get(), &text);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

/// What the caller presented: its certificate and those it sent along.
std::string peer_chain_of(SSL* connection) {
  const Certificate own(SSL_get1_peer_certificate(connection));
  if (!own) return {};
  std::string out = pem_of(own.get());
  const STACK_OF(X509)* const others = SSL_get_peer_cert_chain(connection);
  for (int i = 0; others != nullptr && i < sk_X509_num(others); ++i) out += pem_of(sk_X509_value(others, i));
  return out;
}

}  // namespace

bool Ask::has(std::string_view key) const {
  return std::any_of(query.begin(), query.end(), [&](const auto& pair) { return pair.first == key; });
}

std::string_view Ask::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& pair) { return pair.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

struct HttpsServer::State {
  State(std::vector<Route> table, Gate access)
      : routes(std::move(table)), gate(std::move(access)), acceptor(io), reload(io) {}

  Status listen();
  asio::awaitable<void> accept();
  asio::awaitable<void> keep_keys_fresh();
  std::shared_ptr<ServedTls> current_tls() {
    const std::lock_guard lock(mutex);
    return tls;
  }
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);
  Reply answer(const Ask& ask) const;
  asio::awaitable<Reply> reply_to(const Ask& ask);

  const std::vector<Route> routes;
  const Gate gate;
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer reload;
  HttpsServerOptions options;
  std::vector<std::thread> threads;

  std::mutex mutex;  // guards tls
  std::shared_ptr<ServedTls> tls;

  asio::thread_pool waiting{k_waiting_thread_count};  // what runs there ends in io
};

Status HttpsServer::State::listen() {
  Result<std::shared_ptr<ServedTls>> made = make_tls({options.keys, options.named_keys}, options);
  if (!made.ok()) return made.error();
  tls = std::move(*made);

  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) return Error{fmt::format("\"{}\" is no address to serve on", options.address)};
  const asio::ip::tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  if (!error && options.shares_port) acceptor.set_option(ReusePort(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Error{fmt::format("cannot serve on {}:{}: {}", options.address, options.port, error.message())};
  asio::co_spawn(io, accept(), asio::detached);
  if (options.reload_keys) asio::co_spawn(io, keep_keys_fresh(), asio::detached);
  for (std::size_t i = 0; i < k_thread_count; ++i) threads.emplace_back([this] { io.run(); });
  return Unit{};
}

/// Connections that are open keep what they began with.
asio::awaitable<void> HttpsServer::State::keep_keys_fresh() {
  ServingKeys served{options.keys, options.named_keys};
  for (;;) {
    reload.expires_after(k_reload_period);
    auto [error] = co_await reload.async_wait(k_await);
    if (error) co_return;
    Result<ServingKeys> keys = options.reload_keys();
    if (!keys.ok()) {
      observe::warning("The serving certificate stays as it is", {{"err", keys.error().message}});
      continue;
    }
    if (*keys == served) continue;
    Result<std::shared_ptr<ServedTls>> made = make_tls(*keys, options);
    if (!made.ok()) {
      observe::warning("The serving certificate stays as it is", {{"err", made.error().message}});
      continue;
    }
    served = std::move(*keys);
    observe::info("The serving certificate has changed");
    const std::lock_guard lock(mutex);
    tls = std::move(*made);
  }
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
    observe::error("A request cannot be answered", {{"err", e.what()}, {"verb", ask.method}, {"URI", ask.path}});
    return {500, "internal server error\n"};
  }
}

asio::awaitable<Reply> HttpsServer::State::reply_to(const Ask& ask) {
  if (!options.may_wait || !options.may_wait(ask)) co_return answer(ask);
  co_return co_await asio::co_spawn(
      waiting, [this, &ask]() -> asio::awaitable<Reply> { co_return answer(ask); }, asio::use_awaitable);
}

asio::awaitable<void> HttpsServer::State::serve(asio::ip::tcp::socket socket) {
  const std::shared_ptr<ServedTls> served = current_tls();
  beast::ssl_stream<beast::tcp_stream> stream(beast::tcp_stream(std::move(socket)), *served->any);
  beast::get_lowest_layer(stream).expires_after(k_header_limit);
  auto [shake_error] = co_await stream.async_handshake(asio::ssl::stream_base::server, k_await);
  if (shake_error) co_return;
  const std::string peer_chain = peer_chain_of(stream.native_handle());
  beast::flat_buffer buffer;
  for (bool goes_on = true; goes_on;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(k_header_bytes_max);
    parser.body_limit(k_body_bytes_max);
    beast::get_lowest_layer(stream).expires_after(k_idle_limit);
    auto [read_error, read] = co_await http::async_read(stream, buffer, parser, k_await);
    if (read_error) co_return;
    const http::request<http::string_body> request = parser.release();
    Ask ask = ask_of(request);
    ask.peer_chain = peer_chain;
    const auto began = std::chrono::steady_clock::now();
    Reply reply = co_await reply_to(ask);
    if (options.on_answer) options.on_answer(ask, reply, std::chrono::steady_clock::now() - began);
    http::response<http::string_body> response(static_cast<http::status>(reply.status), request.version());
    response.set(http::field::content_type, reply.content_type);
    response.set(http::field::cache_control, "no-cache, private");
    response.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : reply.headers) response.set(name, value);
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
  server->state_->options = std::move(options);
  if (const Status listening = server->state_->listen(); !listening.ok()) return listening.error();
  return server;
}

HttpsServer::~HttpsServer() {
  state_->io.stop();
  for (std::thread& thread : state_->threads) thread.join();
  state_->waiting.stop();
  state_->waiting.join();
}

std::uint16_t HttpsServer::port() const noexcept {
  boost::system::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

}  // namespace berth::serving
