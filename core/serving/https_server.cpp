// SPDX-License-Identifier: Apache-2.0
#include "serving/https_server.hpp"

#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <exception>
#include <span>

#include "base/guarded.hpp"
#include "net/wire/record_limit.hpp"
#include "observe/log.hpp"
#include "serving/connection_rates.hpp"
#include "serving/connection_table.hpp"
#include "serving/counted.hpp"
#include "serving/peer_identity.hpp"
#include "serving/request_reader.hpp"
#include "serving/serving_counts.hpp"
#include "serving/serving_threads.hpp"
#include "serving/spare_descriptor.hpp"
#include "serving/tls_context.hpp"

namespace berth::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
constexpr auto k_await = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t k_thread_count = 4;
constexpr std::size_t k_waiting_thread_count = 8;
constexpr std::size_t k_waiting_max = 64;  // requests for these threads
constexpr std::chrono::minutes k_reload_period{1};
constexpr std::chrono::milliseconds k_accept_pause{100};  // after a failure
constexpr std::chrono::seconds k_room_limit{1};           // for a connection that was ended to be gone
/// After a refusal, so that the caller can read it before the kernel drops it for what is still coming in.
constexpr std::chrono::seconds k_linger_limit{1};
constexpr std::size_t k_linger_bytes_max = 256 << 10;

using Stop = boost::system::error_code;
using Phase = ConnectionTable::Phase;
using End = ServingCounts::End;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

}  // namespace

bool HttpRequest::has(std::string_view key) const {
  return std::any_of(query.begin(), query.end(), [&](const auto& pair) { return pair.first == key; });
}

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& pair) { return pair.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

namespace {

/// A caller, from accept to the end.
template <typename Stream>
struct Connection {
  template <typename... Parts>
  explicit Connection(std::shared_ptr<ServedTls> served, Parts&&... parts)
      : tls(std::move(served)), stream(std::forward<Parts>(parts)...) {}
  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream); }

  std::optional<ConnectionTable::Place> place;  // goes last, when the socket is closed
  const std::shared_ptr<ServedTls> tls;         // of which the stream is made
  net::RecordLimit records;                     // of which the stream tells
  Stream stream;
  RequestReader reader;
  std::string peer_chain;
};
template <typename Stream>
using ConnectionPtr = std::shared_ptr<Connection<Stream>>;

template <typename Stream, typename... Parts>
ConnectionPtr<Stream> open_connection(ConnectionTable& table, std::shared_ptr<ServedTls> tls, Parts&&... parts) {
  auto made = std::make_shared<Connection<Stream>>(std::move(tls), std::forward<Parts>(parts)...);
  made->place.emplace(table, [weak = std::weak_ptr(made)] {
    // What it is doing ends with an error, on its own strand.
    if (const auto connection = weak.lock())
      asio::post(connection->tcp().get_executor(), [connection] { connection->tcp().close(); });
  });
  return made;
}

}  // namespace

struct HttpsServer::State {
  State(HttpsServerOptions given, std::vector<Route> table, Gate access)
      : routes(std::move(table)),
        gate(std::move(access)),
        options(std::move(given)),
        counts(options.counts ? options.counts : std::make_shared<ServingCounts>()) {}
  ~State() { stop(); }
  void stop() {
    is_stopping = true;
    threads.stop();
    waiting.stop();
  }

  struct Answer {
    HttpResponse reply;
    bool is_admitted = false;
  };

  Status listen();
  asio::awaitable<void> accept();
  asio::awaitable<bool> accept_one();
  asio::awaitable<bool> make_room();
  void welcome(asio::ip::tcp::socket socket);
  Status take_new_keys(ServingKeys& served);
  asio::awaitable<void> keep_keys_fresh();
  std::shared_ptr<ServedTls> current_tls() {
    const Lock lock(mutex);
    return tls;
  }
  asio::awaitable<void> serve_tls(ConnectionPtr<TlsStream> connection);
  template <typename Stream>
  asio::awaitable<void> converse(ConnectionPtr<Stream> connection);
  template <typename Stream>
  asio::awaitable<bool> read_request(Connection<Stream>& connection, std::chrono::milliseconds patience);
  template <typename Stream>
  asio::awaitable<bool> write(Connection<Stream>& connection, HttpResponse reply, bool keeps, unsigned int version,
                              bool is_head);
  template <typename Stream>
  asio::awaitable<void> refuse(Connection<Stream>& connection);
  static Answer come_again() {
    Answer out;
    out.reply = {429, "too many requests wait for an answer\n"};
    out.reply.headers.emplace_back("Retry-After", "1");
    return out;
  }
  Answer answer(HttpRequest& ask) const;
  asio::awaitable<Answer> reply_to(HttpRequest& ask);
  /// Counts it when the server's patience was what ended an operation.
  void note_end(const Stop& error, End why) {
    if (error == beast::error::timeout) counts->note_end(why);
  }
  /// For coroutines that are not waited for.
  auto ended() {
    return [counts = counts](const std::exception_ptr& thrown) {
      try {
        if (thrown) std::rethrow_exception(thrown);
      } catch (const std::exception& e) {
        counts->note_exception(e.what());
      } catch (...) {
        counts->note_exception("no std::exception");
      }
    };
  }
  /// Called on whatever thread a connection ended.
  void look_for_room() {
    if (is_looking_for_room && !is_stopping) asio::post(acceptor_strand, [this] { room.cancel(); });
  }

  const std::vector<Route> routes;
  const Gate gate;
  const HttpsServerOptions options;
  const std::shared_ptr<ServingCounts> counts;
  std::atomic<bool> is_stopping{false}, is_looking_for_room{false};
  std::atomic<std::size_t> waiting_count{0};
  ConnectionTable connections{[this] {
    --counts->open;
    look_for_room();
  }};

  Mutex mutex;
  std::shared_ptr<ServedTls> tls GUARDED_BY(mutex);

  ServingThreads threads{counts, "serving"};
  ServingThreads waiting{counts, "serving-waits"};  // what runs there ends in the other
  asio::strand<asio::io_context::executor_type> acceptor_strand{
      threads.io().get_executor()};  // of acceptor and the timers
  asio::ip::tcp::acceptor acceptor{acceptor_strand};
  asio::steady_timer reload{threads.io()}, pause{acceptor_strand}, room{acceptor_strand};
  SpareDescriptor spare;
  ConnectionRates rates{options.connections_per_s, options.connections_burst};  // on the acceptor's strand
};

Status HttpsServer::State::listen() {
  if (!options.is_plain) {
    Result<std::shared_ptr<ServedTls>> made = make_tls({options.keys, options.named_keys}, options);
    if (!made.ok()) return made.error();
    const Lock lock(mutex);
    tls = std::move(*made);
  }

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
  if (!error) acceptor.non_blocking(true, error);
  if (error) return Error{fmt::format("cannot serve on {}:{}: {}", options.address, options.port, error.message())};
  asio::co_spawn(acceptor_strand, accept(), ended());
  if (options.reload_keys) asio::co_spawn(threads.io(), keep_keys_fresh(), ended());
  threads.start(k_thread_count);
  if (options.may_wait) waiting.start(k_waiting_thread_count);
  return Unit{};
}

/// Connections that are open keep what they began with.
Status HttpsServer::State::take_new_keys(ServingKeys& served) {
  Result<ServingKeys> keys = options.reload_keys();
  if (!keys.ok()) return keys.error();
  if (*keys == served) return Unit{};
  Result<std::shared_ptr<ServedTls>> made = make_tls(*keys, options);
  if (!made.ok()) return made.error();
  served = std::move(*keys);
  observe::info("The serving certificate has changed");
  const Lock lock(mutex);
  tls = std::move(*made);
  return Unit{};
}

asio::awaitable<void> HttpsServer::State::keep_keys_fresh() {
  ServingKeys served{options.keys, options.named_keys};
  for (;;) {
    reload.expires_after(k_reload_period);
    auto [error] = co_await reload.async_wait(k_await);
    if (error) co_return;
    try {
      if (const Status taken = take_new_keys(served); !taken.ok())
        observe::warning("The serving certificate stays as it is", {{"err", taken.error().message}});
    } catch (const std::exception& e) {
      observe::warning("The serving certificate stays as it is", {{"err", e.what()}});
    }
  }
}

asio::awaitable<void> HttpsServer::State::accept() {
  for (;;) {
    std::exception_ptr thrown;
    try {
      if (!co_await accept_one()) co_return;
      continue;
    } catch (...) {
      thrown = std::current_exception();
    }
    ended()(thrown);
    pause.expires_after(k_accept_pause);
    auto [error] = co_await pause.async_wait(k_await);
    if (error) co_return;
  }
}

/// False when there is nothing to be accepted any more.
asio::awaitable<bool> HttpsServer::State::accept_one() {
  const asio::any_io_executor strand = asio::make_strand(threads.io());
  auto [error, socket] = co_await acceptor.async_accept(strand, k_await);
  if (error == asio::error::operation_aborted) co_return false;
  if (error) {
    const std::uint64_t times = ++counts->accept_failures;
    if (std::has_single_bit(times))
      observe::warning("A connection cannot be accepted", {{"err", error.message()}, {"times", times}});
    spare.close_one(acceptor.native_handle());
    pause.expires_after(k_accept_pause);
    co_await pause.async_wait(k_await);
    co_return true;
  }
  ++counts->accepted;
  boost::system::error_code has_left;
  const asio::ip::tcp::endpoint caller = socket.remote_endpoint(has_left);
  if (has_left) co_return true;
  if (!rates.admit(caller.address(), std::chrono::steady_clock::now())) {
    counts->note_end(End::connection_rate);
    co_return true;
  }
  if (co_await make_room()) welcome(std::move(socket));
  co_return true;
}

/// False when there is none for another connection.
asio::awaitable<bool> HttpsServer::State::make_room() {
  if (connections.size() < options.connections_max) co_return true;
  counts->note_end(End::no_room);  // the other one or this one
  if (!connections.end_one()) co_return false;
  room.expires_after(k_room_limit);
  is_looking_for_room = true;
  while (connections.size() >= options.connections_max) {
    auto [error] = co_await room.async_wait(k_await);
    if (!error || is_stopping) break;
  }
  is_looking_for_room = false;
  co_return connections.size() < options.connections_max;
}

void HttpsServer::State::welcome(asio::ip::tcp::socket socket) {
  const asio::any_io_executor strand = socket.get_executor();
  ++counts->open;
  if (options.is_plain) {
    auto connection = open_connection<beast::tcp_stream>(connections, nullptr, std::move(socket));
    asio::co_spawn(strand, converse(std::move(connection)), ended());
    return;
  }
  std::shared_ptr<ServedTls> served = current_tls();
  asio::ssl::context& any = *served->any;
  auto connection =
      open_connection<TlsStream>(connections, std::move(served), beast::tcp_stream(std::move(socket)), any);
  asio::co_spawn(strand, serve_tls(std::move(connection)), ended());
}

HttpsServer::State::Answer HttpsServer::State::answer(HttpRequest& ask) const {
  const Route* best = nullptr;
  for (const Route& route : routes) {
    const bool below = route.path.ends_with('/') && ask.path.starts_with(route.path);
    if ((below || ask.path == route.path) && (best == nullptr || route.path.size() > best->path.size())) best = &route;
  }
  ask.has_route = best != nullptr && ask.path == best->path;
  Answer out;
  try {
    // Who may not ask learns nothing of what is there.
    if (gate) {
      Admission admission = gate(ask);
      out.is_admitted = admission.is_admitted;
      if (admission.refusal) {
        out.reply = std::move(*admission.refusal);
        return out;
      }
    }
    out.reply = best != nullptr ? best->handler(ask) : HttpResponse{404, "404 page not found\n"};
  } catch (const std::exception& e) {
    observe::error("A request cannot be answered", {{"err", e.what()}, {"verb", ask.method}, {"URI", ask.path}});
    out.reply = {500, "internal server error\n"};
  }
  return out;
}

asio::awaitable<HttpsServer::State::Answer> HttpsServer::State::reply_to(HttpRequest& ask) {
  if (!options.may_wait || !options.may_wait(ask)) co_return answer(ask);
  const Counted waits(waiting_count);
  if (waits.before() >= k_waiting_max) {
    counts->note_refusal(429);
    co_return come_again();
  }
  co_return co_await asio::co_spawn(
      waiting.io(), [this, &ask]() -> asio::awaitable<Answer> { co_return answer(ask); }, asio::use_awaitable);
}

asio::awaitable<void> HttpsServer::State::serve_tls(ConnectionPtr<TlsStream> connection) {
  connection->tcp().expires_after(options.handshake_limit);
  auto [error] = co_await connection->stream.async_handshake(asio::ssl::stream_base::server, k_await);
  if (error) {
    note_end(error, End::handshake_time);
    co_return;
  }
  connection->peer_chain = peer_chain_of(connection->stream.native_handle());
  connection->records.watch(connection->stream.native_handle(), [this, caller = connection.get()] {
    counts->note_end(End::other_records);
    caller->tcp().close();
  });
  co_await converse(std::move(connection));
}

template <typename Stream>
asio::awaitable<void> HttpsServer::State::converse(ConnectionPtr<Stream> connection) {
  Connection<Stream>& caller = *connection;
  // A new caller has a request to send: only between requests is there a longer time.
  std::chrono::milliseconds patience = options.request_limit;
  while (co_await read_request(caller, patience)) {
    const unsigned int version = caller.reader.version();
    const bool keeps = caller.reader.keeps_connection();
    caller.records.begin_request();
    HttpRequest ask = caller.reader.take_ask();
    ask.peer_chain = caller.peer_chain;
    caller.place->enter(Phase::answering);
    const auto began = std::chrono::steady_clock::now();
    Answer found = co_await reply_to(ask);
    if (found.is_admitted) caller.place->admit();
    if (options.on_answer) options.on_answer(ask, found.reply, std::chrono::steady_clock::now() - began);
    // A caller with certificates that no authority here has signed has one request for each handshake.
    const bool stays = keeps && (found.reply.status != 401 || caller.peer_chain.empty());
    const bool is_written = co_await write(caller, std::move(found.reply), stays, version, ask.method == "HEAD");
    if (!is_written || !stays) co_return;
    patience = options.idle_limit;
  }
}

/// False when none comes, or one that is refused: then that is answered.
template <typename Stream>
asio::awaitable<bool> HttpsServer::State::read_request(Connection<Stream>& caller, std::chrono::milliseconds patience) {
  using Progress = RequestReader::Progress;
  Progress progress = caller.reader.begin();
  bool has_begun = false;
  caller.place->enter(Phase::idle);
  caller.tcp().expires_after(patience);
  while (progress == Progress::needs_more) {
    if (!has_begun && caller.reader.has_begun()) {
      has_begun = true;
      caller.place->enter(Phase::reading);
      caller.tcp().expires_after(options.request_limit);
    }
    const std::span<char> bytes = caller.reader.room();
    auto [error, size] = co_await caller.stream.async_read_some(asio::buffer(bytes.data(), bytes.size()), k_await);
    if (error) {
      note_end(error, has_begun ? End::request_time : End::idle_time);
      co_return false;
    }
    progress = caller.reader.take(size);
  }
  if (progress == Progress::complete) co_return true;
  co_await refuse(caller);
  co_return false;
}

template <typename Stream>
asio::awaitable<bool> HttpsServer::State::write(Connection<Stream>& caller, HttpResponse reply, bool keeps,
                                                unsigned int version, bool is_head) {
  http::response<http::string_body> response(static_cast<http::status>(reply.status), version);
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::cache_control, "no-cache, private");
  response.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  response.keep_alive(keeps);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  if (is_head) response.body().clear();
  caller.place->enter(Phase::writing);
  caller.tcp().expires_after(options.request_limit);
  auto [error, written] = co_await http::async_write(caller.stream, response, k_await);
  if (error) note_end(error, End::answer_time);
  co_return !error;
}

template <typename Stream>
asio::awaitable<void> HttpsServer::State::refuse(Connection<Stream>& caller) {
  const RequestRefusal refusal = caller.reader.refusal();
  counts->note_refusal(refusal.status);
  HttpResponse reply;
  reply.status = refusal.status;
  reply.body = fmt::format("{}\n", refusal.why);
  if (!co_await write(caller, std::move(reply), false, 11, false)) co_return;
  asio::ip::tcp::socket& socket = caller.tcp().socket();
  Stop ignored;
  socket.shutdown(asio::socket_base::shutdown_send, ignored);
  caller.tcp().expires_after(k_linger_limit);
  std::array<char, 4096> unread{};
  for (std::size_t bytes = 0; bytes < k_linger_bytes_max;) {
    auto [error, size] = co_await caller.tcp().async_read_some(asio::buffer(unread), k_await);
    if (error) co_return;
    bytes += size;
  }
}

HttpsServer::HttpsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<HttpsServer>> HttpsServer::make(HttpsServerOptions options, std::vector<Route> routes,
                                                       Gate gate) {
  std::unique_ptr<HttpsServer> server(
      new HttpsServer(std::make_unique<State>(std::move(options), std::move(routes), std::move(gate))));
  if (const Status listening = server->state_->listen(); !listening.ok()) return listening.error();
  return server;
}

HttpsServer::~HttpsServer() = default;

std::uint16_t HttpsServer::port() const noexcept {
  boost::system::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

}  // namespace berth::serving
