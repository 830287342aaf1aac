// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/guarded.hpp"
#include "base/utf8.hpp"
#include "net/http_message.hpp"
#include "net/http_session.hpp"
#include "observe/log.hpp"

namespace berth::net {
namespace {

constexpr int k_retries_max = 10;
constexpr std::chrono::seconds k_broken_get_delay{1};
// A server that asks for more patience has given its answer.
constexpr std::chrono::seconds k_retry_after_max{120};
// As Go's transport has it in kube-scheduler.
constexpr std::chrono::seconds k_idle_max{90};
constexpr std::size_t k_refusal_bytes_max = 64 * 1024;
constexpr int k_urgent_in_a_row_max = 9;

http::verb verb_of(Method method) {
  switch (method) {
    case Method::get:
      return http::verb::get;
    case Method::post:
      return http::verb::post;
    case Method::put:
      return http::verb::put;
    case Method::patch:
      return http::verb::patch;
    case Method::del:
      return http::verb::delete_;
  }
  return http::verb::get;
}

std::optional<std::chrono::seconds> retry_after_of(std::string_view text) {
  int seconds = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), seconds).ec != std::errc() || seconds < 0)
    return std::nullopt;
  return std::chrono::seconds(seconds);
}

void log_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    observe::warning("Warning of the API server", {{"warning", std::string_view(warning)}});
}

/// What Go's client refuses to write as well. The value may be a secret and is not shown.
std::optional<Error> cannot_be_sent(std::string_view name, std::string_view value, std::string_view source) {
  const auto bad = std::find_if(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
  if (bad == value.end()) return std::nullopt;
  return Error{fmt::format("the header {} cannot be sent: {} has the control character 0x{:02x} at byte {} of {}", name,
                           source, static_cast<unsigned char>(*bad), bad - value.begin(), value.size()),
               ErrorCode::unreachable};
}

Error broken(const Request& request, const std::string& why) {
  return {fmt::format("{}: the connection broke: {}", request.target, why), ErrorCode::connection_broken};
}

Error unreadable(const Request& request, const std::string& why) {
  return {fmt::format("{}: the connection broke: the answer cannot be used: {}", request.target, why),
          ErrorCode::connection_broken};
}

Error stopped_error() { return {"the client was stopped", ErrorCode::stopped}; }

}  // namespace

HttpClient::State::State(IoThreads& io_threads, std::shared_ptr<Endpoint> to, HttpClientOptions client_options)
    : threads(io_threads),
      endpoint(std::move(to)),
      options(std::move(client_options)),
      strand(asio::make_strand(io_threads.context().io)),
      limit(options.qps, options.burst, endpoint->clock()),
      random(options.seed) {}

asio::awaitable<Result<Identity>> HttpClient::State::identity() {
  Authorizer& authorizer = endpoint->authorizer();
  if (std::optional<Identity> known = authorizer.at_once()) co_return std::move(*known);
  // An exec plugin may take its time: not on a thread that others need.
  auto self = shared_from_this();
  const auto out = std::make_shared<std::optional<Result<Identity>>>();
  co_await asio::co_spawn(
      threads.context().blocking,
      [](std::shared_ptr<State> state, std::shared_ptr<std::optional<Result<Identity>>> into) -> asio::awaitable<void> {
        into->emplace(state->endpoint->authorizer().current(&state->threads.context().stopping));
        co_return;
      }(self, out),
      asio::use_awaitable);
  co_return std::move(**out);
}

HttpClient::State::Message HttpClient::State::message(const Request& request, const Identity& who) const {
  const Url& server = endpoint->server();
  const std::string host = server.host_header();
  const bool forwarded = endpoint->is_forwarded();
  const std::string root = forwarded ? server.scheme + "://" + host : std::string();
  Message out(verb_of(request.method), root + server.path + request.target, 11);
  out.set(http::field::host, host);
  if (forwarded && endpoint->proxy()->has_user())
    out.set(http::field::proxy_authorization, endpoint->proxy()->basic_authorization());
  out.set(http::field::user_agent, options.user_agent);
  out.set(http::field::accept, request.accept);
  if (options.accept_gzip) out.set(http::field::accept_encoding, "gzip");
  if (!who.authorization.empty()) out.set(http::field::authorization, who.authorization);
  for (const auto& [name, value] : endpoint->authorizer().headers()) out.insert(name, value);
  if (request.method != Method::get) {
    out.set(http::field::content_type, request.content_type);
    out.body() = request.body;
  }
  out.prepare_payload();
  return out;
}

Result<std::string> HttpClient::State::question(const Request& request, const Identity& who) const {
  const Message whole = message(request, who);
  const auto is_visible = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  if (const auto target = whole.target(); !std::all_of(target.begin(), target.end(), is_visible))
    return Error{"the path of the request has a space or a control character", ErrorCode::unreachable};
  for (const auto& field : whole) {
    const auto name = field.name_string(), value = field.value();
    const bool is_login = field.name() == http::field::authorization;
    if (std::optional<Error> bad = cannot_be_sent({name.data(), name.size()}, {value.data(), value.size()},
                                                  is_login ? who.source : std::string_view("its value")))
      return std::move(*bad);
  }
  return bytes_of(whole);
}

asio::awaitable<Result<std::unique_ptr<Connection>>> HttpClient::State::acquire(Identity who, Deadline end) {
  drop_idle(k_idle_max);
  const auto is_usable = [&](const std::unique_ptr<Connection>& connection) {
    const Result<Endpoint::Current> tls = endpoint->tls(who);
    return connection != nullptr && connection->is_alive() && tls.ok() && connection->epoch() == tls->epoch;
  };
  while (!idle.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle.back());
    idle.pop_back();
    if (is_usable(connection)) co_return std::move(connection);
    --open_count;
  }
  if (open_count < options.connections_max) {
    ++open_count;
  } else {
    Waiter waiter{asio::steady_timer(strand, asio::steady_timer::time_point::max())};
    waiting.push_back(&waiter);
    co_await waiter.turn.async_wait(k_await);
    if (is_usable(waiter.connection)) co_return std::move(waiter.connection);
    waiter.connection.reset();
  }
  if (stopped) {
    release(nullptr);
    co_return stopped_error();
  }
  Result<std::unique_ptr<Connection>> made = Error{"", ErrorCode::unreachable};
  try {
    made = co_await Connection::open(endpoint, std::move(who), end);
  } catch (const std::exception& error) {
    made = Error{error.what(), ErrorCode::unreachable};
  }
  if (!made.ok()) release(nullptr);
  co_return made;
}

/// Who waits longest has the connection, or its place when there is none: who comes later must not be faster.
void HttpClient::State::release(std::unique_ptr<Connection> connection) {
  if (!waiting.empty()) {
    Waiter& next = *waiting.front();
    waiting.pop_front();
    next.connection = std::move(connection);
    next.turn.cancel();
  } else if (connection) {
    connection->idle_since_ns = endpoint->clock().monotonic_ns();
    idle.push_back(std::move(connection));
  } else {
    --open_count;
  }
}

/// Who is between us and the server may have forgotten them without a word.
void HttpClient::State::drop_idle(std::chrono::nanoseconds at_least) {
  const std::int64_t until_ns = endpoint->clock().monotonic_ns() - at_least.count();
  open_count -= std::erase_if(idle, [&](const auto& connection) { return connection->idle_since_ns <= until_ns; });
}

bool HttpClient::State::is_admitted(const Request& request) const {
  return request.method == Method::get || options.fence == nullptr || options.fence->admits(request.fence_ticket);
}

asio::awaitable<HttpClient::State::Attempt> HttpClient::State::attempt(const Request& request, const Identity& who,
                                                                       Deadline end, bool may_be_done) {
  const Result<std::string> asked = question(request, who);
  if (!asked.ok()) co_return Attempt(asked.error());
  Result<std::unique_ptr<Connection>> acquired = co_await acquire(who, end);
  if (!acquired.ok()) co_return Attempt(acquired.error());
  std::unique_ptr<Connection> connection = std::move(*acquired);
  if (stopped) {
    release(nullptr);
    co_return Attempt(stopped_error());
  }
  // As late as it can be asked: the wait for a connection is over.
  if (!is_admitted(request)) {
    release(std::move(connection));
    co_return Attempt(stopped_error());
  }
  const Deadline until = std::min(end, std::chrono::steady_clock::now() + request.timeout);
  bool keeps = false;
  Attempt out(stopped_error());
  try {
    if (const Status may_go = request.may_go ? request.may_go(may_be_done) : Status(Unit{}); may_go.ok()) {
      out = co_await converse(*connection, request, *asked, until, keeps);
    } else {
      out = Attempt(may_go.error());
      out.is_final = keeps = true;
    }
  } catch (const std::exception& error) {
    out = Attempt(broken(request, error.what()));
    keeps = false;
  }
  if (keeps) {
    connection->socket().expires_never();
  } else {
    connection.reset();
  }
  release(std::move(connection));
  co_return out;
}

asio::awaitable<HttpClient::State::Attempt> HttpClient::State::converse(Connection& connection, const Request& request,
                                                                        const std::string& question, Deadline until,
                                                                        bool& keeps) {
  const bool reused = std::exchange(connection.used, true);
  connection.socket().expires_at(until);
  connection.begin_request();
  const ByteStream::Moved sent = co_await connection.bytes().write(asio::buffer(question));
  boost::system::error_code error = sent.error;
  bool asked = false;  // a byte of the answer came
  AnswerParser answer({options.accept_gzip, request.answer_bytes_max});
  std::string body;
  while (!error) {
    const AnswerStep read = co_await read_step(connection.bytes(), connection.buffer(), answer);
    asked = asked || read.bytes > 0;
    error = read.error;
    if (error) break;
    if (!read.step.ok()) {
      if (!asked) error = http::error::end_of_stream;
      if (asked) co_return Attempt(unreadable(request, read.step.error().message));
      break;
    }
    if (*read.step == AnswerParser::Step::end) break;
    if (*read.step == AnswerParser::Step::piece) body += answer.piece();
    // Unpacking takes time too, and nothing of the socket sees it.
    if (std::chrono::steady_clock::now() >= until) error = beast::error::timeout;
  }
  if (error) {
    // The others are as silent, most likely.
    if (error == beast::error::timeout) drop_idle(std::chrono::nanoseconds(0));
    const bool may_be_known = request.written_once && sent.bytes > 0;
    const bool stale = reused && !asked && !may_be_known && error != beast::error::timeout;
    co_return Attempt(broken(request, error.message()), stale);
  }
  log_warnings(answer.warnings());
  Response response{answer.status(), answer.content_type(), std::move(body), retry_after_of(answer.retry_after())};
  response.location = answer.location();
  keeps = answer.keeps_connection();
  co_return Attempt(std::move(response));
}

/// How long to wait before this outcome is tried again; nothing: it stands.
std::optional<std::chrono::nanoseconds> HttpClient::State::next_try(const Request& request, const Identity* who,
                                                                    const Attempt& tried, Tries& tries) {
  const auto jittered = [&](double seconds) {
    const double factor = 1 + request.retry.jitter * random_unit();
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * factor * 1e9));
  };
  const auto by_policy = [&]() -> std::optional<std::chrono::nanoseconds> {
    if (tries.by_policy >= request.retry.retries) return std::nullopt;
    const double first_s = static_cast<double>(request.retry.first_delay.count()) / 1000;
    const double most_s = static_cast<double>(request.retry.delay_max.count()) / 1000;
    return jittered(std::min(first_s * std::pow(request.retry.factor, tries.by_policy++), most_s));
  };
  if (!tried.outcome.ok()) {
    if (tried.is_final || tried.outcome.error().code == ErrorCode::stopped) return std::nullopt;
    const bool broke = tried.outcome.error().code == ErrorCode::connection_broken;
    tries.was_uncertain = tries.was_uncertain || broke;
    if (broke && request.method == Method::get && tries.by_server++ < k_retries_max) return k_broken_get_delay;
    return by_policy();
  }
  const Response& response = *tried.outcome;
  if (response.status == 401 && who != nullptr) {
    // The next request gets a new credential; so does this one, once.
    endpoint->authorizer().refused(*who);
    if (endpoint->authorizer().runs_command() && !std::exchange(tries.refreshed, true))
      return std::chrono::nanoseconds(0);
  }
  const bool is_busy = response.status == 429 || response.status >= 500;
  tries.was_uncertain = tries.was_uncertain || response.status >= 500;
  // Clients that were told the same second do not all come back in it.
  const bool is_told_when = response.retry_after && *response.retry_after <= k_retry_after_max;
  if (is_busy && is_told_when && request.retry.when_told && tries.by_server++ < k_retries_max)
    return jittered(static_cast<double>(response.retry_after->count()) + 0.05);
  if (request.retry.only_silence) return std::nullopt;
  const bool unanswered = response.status == 500 || response.status == 503 || response.status == 504 ||
                          (response.status == 429 && request.retry.busy);
  if (unanswered || (response.status == 409 && request.retry.conflicts)) return by_policy();
  return std::nullopt;
}

void HttpClient::State::report(CallReport made, std::chrono::steady_clock::time_point began) const {
  made.host = endpoint->server().authority();
  made.took = std::chrono::steady_clock::now() - began;
  options.on_call(made);
}

asio::awaitable<Result<Response>> HttpClient::State::exchange(Request request, Turn turn) {
  const auto self = shared_from_this();
  Tries tries(turn);
  Result<Response> outcome = stopped_error();
  try {
    outcome = co_await carry_out(request, tries);
  } catch (const std::exception& error) {
    outcome = broken(request, error.what());
  }
  const std::size_t request_bytes = request.body.size();
  if (outcome.ok() && (outcome->status == 307 || outcome->status == 308)) outcome->question = std::move(request.body);
  if (options.on_call)
    report({request.method,
            outcome.ok() ? outcome->status : 0,
            {},
            tries.held_back,
            {},
            std::move(tries.retried),
            request_bytes,
            outcome.ok() ? outcome->body.size() : 0},
           turn.began);
  co_return outcome;
}

asio::awaitable<std::chrono::nanoseconds> HttpClient::State::wait_for_limit() {
  const std::chrono::nanoseconds wait{limit.take_ns()};
  if (wait.count() > 0) co_await wait_for(wait);
  co_return wait;
}

asio::awaitable<Result<Response>> HttpClient::State::carry_out(const Request& request, Tries& tries) {
  const Deadline end = request.timeout_of_all ? std::chrono::steady_clock::now() + request.timeout : Deadline::max();
  for (;;) {
    if (!std::exchange(tries.is_granted, false)) tries.held_back += co_await wait_for_limit();
    Result<Identity> who = co_await identity();
    if (stopped || !is_admitted(request)) co_return stopped_error();
    Attempt tried(Error{"", ErrorCode::unreachable});
    if (who.ok())
      tried = co_await attempt(request, *who, end, tries.was_uncertain);
    else
      tried.outcome = Error{who.error().message, ErrorCode::unreachable};
    while (tried.stale) {
      // Most likely nothing was asked; for writes that is not enough to be certain.
      tries.was_uncertain = true;
      tried = co_await attempt(request, *who, end, tries.was_uncertain);
    }
    if (tries.made++ > 0) tries.retried.push_back(tried.outcome.ok() ? tried.outcome->status : 0);
    const bool was_uncertain = tries.was_uncertain;
    const std::optional<std::chrono::nanoseconds> delay = next_try(request, who.ok() ? &*who : nullptr, tried, tries);
    // What would only end after its time is not begun.
    if (!delay || (end != Deadline::max() && std::chrono::steady_clock::now() + *delay >= end)) {
      if (tried.outcome.ok())
        tried.outcome->was_uncertain = was_uncertain;
      else if (was_uncertain && !tried.is_final)
        co_return Error{tried.outcome.error().message, ErrorCode::connection_broken};
      co_return std::move(tried.outcome);
    }
    co_await wait_for(*delay);
  }
}

asio::awaitable<Result<std::unique_ptr<BodyStream>>> HttpClient::State::open(Request request) {
  const auto self = shared_from_this();
  try {
    co_return co_await open_stream(std::move(request));
  } catch (const std::exception& error) {
    co_return Error{error.what(), ErrorCode::connection_broken};
  }
}

asio::awaitable<Result<std::unique_ptr<BodyStream>>> HttpClient::State::open_stream(Request request) {
  const auto began = std::chrono::steady_clock::now();
  Result<Identity> who = co_await identity();
  if (!who.ok()) co_return Error{who.error().message, ErrorCode::unreachable};
  const Result<std::string> asked = question(request, *who);
  if (!asked.ok()) co_return asked.error();
  Result<std::unique_ptr<Connection>> made = co_await Connection::open(endpoint, *who);
  if (!made.ok()) co_return made.error();
  auto out = std::make_unique<BodyStream>(std::move(*made), options.accept_gzip);
  Connection& connection = *out->connection_;
  connection.socket().expires_after(request.timeout);
  connection.begin_request();
  const ByteStream::Moved sent = co_await connection.bytes().write(asio::buffer(*asked));
  if (sent.error) co_return broken(request, sent.error.message());
  const AnswerStep read = co_await read_step(connection.bytes(), connection.buffer(), out->answer_);
  if (read.error) co_return broken(request, read.error.message());
  if (!read.step.ok()) co_return unreadable(request, read.step.error().message);
  if (options.on_call) report({request.method, out->status(), {}, {}, {}, {}, 0, 0}, began);
  if (out->status() == 401) endpoint->authorizer().refused(*who);
  log_warnings(out->answer_.warnings());
  co_return std::move(out);
}

asio::awaitable<Result<std::string_view>> BodyStream::read(std::chrono::milliseconds limit) {
  connection_->socket().expires_after(limit);
  const AnswerStep read = co_await read_step(connection_->bytes(), connection_->buffer(), answer_);
  if (read.error) co_return Error{"the answer broke off: " + read.error.message(), ErrorCode::connection_broken};
  if (!read.step.ok())
    co_return Error{"the answer cannot be used: " + read.step.error().message, ErrorCode::connection_broken};
  co_return *read.step == AnswerParser::Step::piece ? answer_.piece() : std::string_view();
}

asio::awaitable<std::string> BodyStream::refusal_text(std::chrono::milliseconds limit) {
  std::string text;
  const Deadline end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const Result<std::string_view> piece = co_await read(std::max(left, std::chrono::milliseconds(1)));
    if (!piece.ok() || piece->empty() || text.size() > k_refusal_bytes_max) break;
    text += *piece;
  }
  co_return text;
}

void BodyStream::cancel() { connection_->socket().close(); }

HttpClient::HttpClient(IoThreads& threads, std::shared_ptr<Endpoint> endpoint, HttpClientOptions options)
    : state_(std::make_shared<State>(threads, std::move(endpoint), std::move(options))) {}

HttpClient::~HttpClient() { stop(); }

std::pair<std::uint64_t, HttpClient::State::Waiting> HttpClient::State::take_next() {
  // One in ten, once it has waited long: with more to bind than the limit allows, pods would never be told why they wait.
  const auto now = std::chrono::steady_clock::now();
  const bool is_due =
      !patient.empty() && urgent_in_a_row >= k_urgent_in_a_row_max && patient.oldest_since() + options.patience <= now;
  RequestQueue& queue = urgent.empty() || is_due ? patient : urgent;
  urgent_in_a_row = &queue == &urgent ? urgent_in_a_row + 1 : 0;
  return queue.take(now, options.patience);
}

asio::awaitable<void> HttpClient::State::work() {
  const auto self = shared_from_this();
  for (;;) {
    {
      const Lock lock(pending_mutex);
      if (urgent.size() + patient.size() <= at_the_limit) {
        --workers;
        co_return;
      }
      ++at_the_limit;
    }
    const std::chrono::nanoseconds waited = co_await wait_for_limit();
    std::optional<std::pair<std::uint64_t, Waiting>> next;
    {
      const Lock lock(pending_mutex);
      --at_the_limit;
      if (!stopped) next.emplace(take_next());
    }
    if (!next) continue;
    Turn turn{next->second.since, {}, true};
    if (waited.count() > 0) turn.held_back = std::chrono::steady_clock::now() - turn.began;
    Result<Response> outcome = co_await exchange(std::move(next->second.request), turn);
    Done answer;
    {
      const Lock lock(pending_mutex);
      const auto found = pending.find(next->first);
      if (found == pending.end()) continue;  // stop() has answered
      answer = std::move(found->second);
      pending.erase(found);
      ++answering;
    }
    try {
      answer(std::move(outcome));
      answer = nullptr;
    } catch (const std::exception& error) {
      IoThreads::count_exception("the answer to a request", error.what());
    }
    const Lock lock(pending_mutex);
    --answering;
    answered.notify_all();
  }
}

std::uint64_t HttpClient::send(Request request, Done done) {
  std::uint64_t number = 0;
  bool one_more = false;
  {
    const Lock lock(state_->pending_mutex);
    if (!state_->stopped) {
      number = state_->next_pending++;
      if (state_->options.fence) request.fence_ticket = state_->options.fence->ticket();
      state_->pending.emplace(number, std::move(done));
      RequestQueue& queue = request.urgent ? state_->urgent : state_->patient;
      queue.add(number, State::Waiting{std::chrono::steady_clock::now(), std::move(request)});
      // Requests that wait before another try leave their connections to others.
      one_more = state_->workers < 2 * state_->options.connections_max;
      if (one_more) ++state_->workers;
      done = nullptr;
    }
  }
  if (done) done(stopped_error());
  if (one_more)
    asio::co_spawn(
        state_->strand, [](std::shared_ptr<State> state) -> asio::awaitable<void> { co_await state->work(); }(state_),
        end_of_coroutine);
  return number;
}

void HttpClient::raise_priority(std::uint64_t number) {
  const Lock lock(state_->pending_mutex);
  if (auto found = state_->patient.remove(number)) state_->urgent.add(number, std::move(*found));
}

void HttpClient::stop() noexcept {
  std::map<std::uint64_t, Done> unanswered;
  {
    const Lock lock(state_->pending_mutex);
    state_->stopped = true;
    state_->urgent.clear();
    state_->patient.clear();
    unanswered.swap(state_->pending);
  }
  for (auto& [number, done] : unanswered) {
    try {
      done(stopped_error());
    } catch (const std::exception& error) {
      IoThreads::count_exception("the answer to a request", error.what());
    }
  }
  UniqueLock lock(state_->pending_mutex);
  state_->answered.wait(lock, [this]() REQUIRES(state_->pending_mutex) { return state_->answering == 0; });
}

}  // namespace berth::net
