// SPDX-License-Identifier: Apache-2.0
#include "support/api_server/api_server.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <random>
#include <set>
#include <unordered_map>

#include "base/base64.hpp"
#include "base/check.hpp"
#include "base/clock.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "decode/wire_schema.hpp"
#include "net/gzip.hpp"
#include "net/http_message.hpp"
#include "support/api_server/api_routes.hpp"
#include "support/api_server/watch_events.hpp"
#include "support/protobuf_writer.hpp"
#include "support/servers/loopback.hpp"

namespace berth::tests {

using namespace cluster::kube;

namespace {

/// Connections and watches end when their socket is closed under them; this is how others reach it.
struct Session {
  explicit Session(asio::any_io_executor on) : executor(on), wake(on) {}
  asio::any_io_executor executor;                    // a strand
  asio::steady_timer wake;                           // of a watch that waits for changes
  std::function<void()> close;                       // on the strand
  std::atomic<const ApiResource*> watched{nullptr};  // set before the store is read for the first time
  std::uint64_t number = 0;                          // in the order in which they came

  struct Earlier {
    bool operator()(const std::shared_ptr<Session>& a, const std::shared_ptr<Session>& b) const noexcept {
      return a->number < b->number;
    }
  };
};

class Dice {
 public:
  void seed(std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    random_.seed(seed);
  }
  bool roll(double probability) {
    if (probability <= 0) return false;
    const std::lock_guard lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
  }
  std::chrono::milliseconds up_to(std::chrono::milliseconds most) {
    const std::lock_guard lock(mutex_);
    return std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(0, most.count())(random_));
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
};

bool asks_for(const http::request<http::string_body>& request, http::field field, std::string_view word) {
  const auto text = request[field];
  return std::string_view(text.data(), text.size()).find(word) != std::string_view::npos;
}

/// Empty: the last. False when the client is gone.
asio::awaitable<bool> write_chunk(net::ByteStream& stream, std::string_view text) {
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
  const net::ByteStream::Moved written = co_await stream.write(asio::buffer(chunk));
  co_return !written.error;
}

}  // namespace

struct ApiServer::State : std::enable_shared_from_this<ApiServer::State> {
  explicit State(ApiServerOptions given)
      : options(std::move(given)),
        store([this](const ApiResource* resource) { changed(resource); }),
        threads(options.thread_count),
        acceptor(threads.context().io),
        tls(asio::ssl::context::tls_server) {}

  void listen();
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(std::shared_ptr<Session> session, net::ByteStream& stream);
  asio::awaitable<bool> handle(Session& session, net::ByteStream& stream, http::request<http::string_body>& request);
  asio::awaitable<bool> reply(net::ByteStream& stream, const http::request<http::string_body>& request, Answer answer,
                              std::optional<int> retry_after = std::nullopt);
  /// `binary`: the client takes protobuf.
  asio::awaitable<void> watch(Session& session, net::ByteStream& stream, const Target& target, bool binary);
  asio::awaitable<void> watch_changes(Session& session, net::ByteStream& stream, const Target& target, bool binary,
                                      std::uint64_t version);

  void changed(const ApiResource* resource);
  void close_all();
  Faults current_faults() {
    const std::lock_guard lock(mutex);
    return faults;
  }
  Poisons current_poisons() {
    const std::lock_guard lock(mutex);
    return poisons;
  }
  /// Events in protobuf, each written once for all who watch it.
  std::string frames_of(std::string_view lines) {
    constexpr std::size_t k_known_max = 256;
    std::string out;
    const std::lock_guard lock(frames_mutex);
    for (std::size_t end; !lines.empty(); lines.remove_prefix(end)) {
      end = lines.find('\n') + 1;
      if (known_frames.size() >= k_known_max) known_frames.clear();
      const auto [known, is_new] = known_frames.try_emplace(std::string(lines.substr(0, end)));
      if (is_new) known->second = *to_protobuf_frames(known->first);
      out += known->second;
    }
    return out;
  }
  /// The lines of a watch as they go out.
  std::string packed(const std::string& lines, bool binary) {
    const Poisons all = current_poisons();
    if (binary) return all.empty() ? frames_of(lines) : *to_protobuf_frames(lines, all);
    return all.empty() ? lines : poisoned_lines(lines, all);
  }
  void note(const http::request<http::string_body>& request, const Target& target, bool is_watch, int status,
            std::int64_t received_wall_ns = SystemClock().wall_ns(), bool is_answer_lost = false);
  std::string refuse_identity(const http::request<http::string_body>& request) const;

  const ApiServerOptions options;
  ApiStore store;
  net::IoThreads threads;
  asio::ip::tcp::acceptor acceptor;
  asio::ssl::context tls;
  std::string authority;
  std::uint16_t port = 0;
  Dice dice;
  std::atomic<bool> watches_held{false}, watches_refused{false};

  std::mutex frames_mutex;
  std::unordered_map<std::string, std::string> known_frames;  // by line; guarded by frames_mutex

  std::mutex mutex;  // guards all below
  Faults faults;
  Poisons poisons;
  std::set<std::shared_ptr<Session>, Session::Earlier> sessions;
  std::uint64_t session_count = 0;
  std::map<std::string, std::size_t> counts;
  std::vector<Seen> writes;
  std::condition_variable news;
  std::uint64_t change_count = 0;
};

void ApiServer::State::listen() {
  if (options.tls) authority = certify(tls);
  port = listen_on_loopback(acceptor);
  asio::co_spawn(threads.context().io, accept(), net::end_of_coroutine);
}

asio::awaitable<void> ApiServer::State::accept() {
  for (;;) {
    auto strand = asio::make_strand(threads.context().io);
    auto [error, socket] = co_await acceptor.async_accept(asio::any_io_executor(strand), net::k_await);
    if (error) co_return;
    auto session = std::make_shared<Session>(strand);
    {
      const std::lock_guard lock(mutex);
      session->number = ++session_count;
      sessions.insert(session);
    }
    asio::co_spawn(
        strand,
        [](State* self, std::shared_ptr<Session> s, asio::ip::tcp::socket connection) -> asio::awaitable<void> {
          const std::shared_ptr<net::ByteStream> stream =
              co_await welcome(std::move(connection), self->options.tls ? &self->tls : nullptr);
          if (stream) {
            s->close = [raw = stream.get()] {
              boost::system::error_code ignored;
              raw->socket().socket().close(ignored);
            };
            co_await self->serve(s, *stream);
            s->close = nullptr;
          }
          const std::lock_guard lock(self->mutex);
          self->sessions.erase(s);
        }(this, session, std::move(socket)),
        net::end_of_coroutine);
  }
}

asio::awaitable<void> ApiServer::State::serve(std::shared_ptr<Session> session, net::ByteStream& stream) {
  beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(64ULL << 20);
    const net::ByteStream::Moved read = co_await net::read_message(stream, buffer, parser, net::Until::end);
    if (read.error) co_return;
    http::request<http::string_body> request = parser.release();
    const bool goes_on = co_await handle(*session, stream, request);
    if (!goes_on) co_return;
  }
}

std::string ApiServer::State::refuse_identity(const http::request<http::string_body>& request) const {
  const std::string given(request[http::field::authorization]);
  if (given.empty() && options.accept_anonymous) return {};
  const std::string token = given.starts_with("Bearer ") ? given.substr(7) : "";
  const bool known = token == options.token || options.more_tokens.contains(token);
  return known ? std::string() : Refusal{401, "Unauthorized", "Unauthorized"}.text();
}

void ApiServer::State::note(const http::request<http::string_body>& request, const Target& target, bool is_watch,
                            int status, std::int64_t received_wall_ns, bool is_answer_lost) {
  const std::string method = is_watch ? "WATCH" : std::string(request.method_string());
  const std::lock_guard lock(mutex);
  ++counts[method + " " + target.pattern()];
  if (request.method() == http::verb::get) return;
  const auto head = [&](http::field field) { return std::string(request[field]); };
  const std::string to(request.target()), type = head(http::field::content_type), agent = head(http::field::user_agent);
  Seen seen{method,        to, request.body(), type, agent, head(http::field::authorization), status, received_wall_ns,
            is_answer_lost};
  if (options.on_write)
    options.on_write(seen);
  else
    writes.push_back(std::move(seen));
}

asio::awaitable<bool> ApiServer::State::handle(Session& session, net::ByteStream& stream,
                                               http::request<http::string_body>& request) {
  const Target target = parse_target(std::string_view(request.target().data(), request.target().size()), store);
  const bool is_write = request.method() != http::verb::get;
  const bool is_watch = !is_write && target.resource != nullptr && target.flag("watch");
  if (const std::string refusal = refuse_identity(request); !refusal.empty()) {
    note(request, target, is_watch, 401);
    Answer denied{401, refusal};  // named: GCC 12 destroys an unnamed one twice
    const bool replied = co_await reply(stream, request, std::move(denied));
    co_return replied;
  }
  if (!options.absent_group.empty() && target.path.starts_with("/apis/" + options.absent_group + "/")) {
    note(request, target, is_watch, 404);
    Answer absent{404, Refusal{404, "NotFound", "the server could not find the requested resource"}.text()};
    const bool replied = co_await reply(stream, request, std::move(absent));
    co_return replied;
  }
  const Faults now = current_faults();
  if (dice.roll(now.slow)) co_await net::wait_for(dice.up_to(now.slow_max));
  if (dice.roll(now.unanswered)) {
    co_await net::wait_for(std::chrono::hours(1));  // longer than any test
    co_return false;
  }
  std::optional<Answer> fault;
  std::optional<int> retry_after;
  if (dice.roll(now.too_many)) {
    fault = Answer{429, Refusal{429, "TooManyRequests", "too many requests, please try again later"}.text()};
    retry_after = 0;
  } else if (dice.roll(now.internal_error)) {
    fault = Answer{500, Refusal{500, "InternalError", "Internal error occurred: injected"}.text()};
  } else if (is_write && dice.roll(now.conflict)) {
    fault = Answer{409, Refusal{409, "Conflict", "Operation cannot be fulfilled: injected"}.text()};
  } else if (is_watch && dice.roll(now.gone)) {
    fault = Answer{410, Refusal{410, "Expired", "too old resource version: injected"}.text()};
  }
  if (fault) {
    note(request, target, is_watch, fault->status);
    const bool replied = co_await reply(stream, request, *fault, retry_after);
    co_return replied;
  }
  if (is_watch) {
    note(request, target, true, 200);
    const ApiResource& resource = *target.resource;
    const bool binary = asks_for(request, http::field::accept, k_protobuf) &&
                        decode::wire_layout(resource.api_version(), resource.kind).message != nullptr;
    co_await watch(session, stream, target, binary);
    co_return false;
  }
  const std::int64_t received_wall_ns = SystemClock().wall_ns();
  Answer made = answer(std::string(request.method_string()), target, request.body(),
                       std::string(request[http::field::content_type]), store,
                       {options.token, options.page_max, options.missing_rights});
  const bool is_answer_lost = is_write && dice.roll(now.lost_answer);
  note(request, target, false, made.status, received_wall_ns, is_answer_lost);
  if (is_answer_lost) co_return false;
  const bool replied = co_await reply(stream, request, std::move(made));
  co_return replied;
}

asio::awaitable<bool> ApiServer::State::reply(net::ByteStream& stream, const http::request<http::string_body>& request,
                                              Answer made, std::optional<int> retry_after) {
  http::response<http::string_body> response(static_cast<http::status>(made.status), request.version());
  response.set(http::field::content_type, made.body.starts_with('{') ? "application/json" : "text/plain");
  const Poisons all = current_poisons();
  std::optional<std::string> binary;
  if (asks_for(request, http::field::accept, k_protobuf)) binary = to_protobuf(made.body, all);
  if (binary) {
    made.body = std::move(*binary);
    response.set(http::field::content_type, k_protobuf);
  } else if (!all.empty() && made.body.starts_with('{')) {
    made.body = poisoned_json(made.body, all);
  }
  // As a real server: small answers are not worth it.
  if (asks_for(request, http::field::accept_encoding, "gzip") && made.body.size() > options.gzip_over_bytes) {
    made.body = net::gzip(made.body);
    response.set(http::field::content_encoding, "gzip");
  }
  if (retry_after) response.set(http::field::retry_after, std::to_string(*retry_after));
  response.keep_alive(request.keep_alive());
  response.body() = std::move(made.body);
  response.prepare_payload();
  const bool cut = dice.roll(current_faults().truncated);
  if (cut) response.body().resize(response.body().size() / 2);  // the length that was said stays
  const std::string bytes = net::bytes_of(response);
  const net::ByteStream::Moved written = co_await stream.write(asio::buffer(bytes));
  co_return !written.error && !cut && response.keep_alive();
}

asio::awaitable<void> ApiServer::State::watch(Session& session, net::ByteStream& stream, const Target& target,
                                              bool binary) {
  const bool initial = target.flag("sendInitialEvents");
  const std::string asked = target.param("resourceVersion");
  std::uint64_t version = asked.empty() ? 0 : std::stoull(asked);
  std::optional<Refusal> refusal;
  if (initial && !options.streaming_lists)
    refusal = Refusal{422, "Invalid",
                      "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList "
                      "feature gate is enabled"};
  if (!initial && version != 0 && !store.changes_after(*target.resource, version, 1))
    refusal = Refusal{410, "Expired", fmt::format("too old resource version: {} ({})", version, store.version())};
  http::response<http::string_body> head(refusal ? static_cast<http::status>(refusal->code) : http::status::ok, 11);
  head.set(http::field::content_type, binary ? std::string(k_protobuf) + ";stream=watch" : "application/json");
  head.chunked(true);
  std::string text = net::bytes_of(head);
  const net::ByteStream::Moved begun = co_await stream.write(asio::buffer(text));
  if (begun.error) co_return;
  text.clear();
  if (refusal) text = binary ? *to_protobuf(refusal->text()) : refusal->text();
  if (!refusal && (initial || version == 0)) {
    const ApiStore::Page page = store.list(*target.resource, target.ns, "", 0);
    for (const StoredPtr& object : page.objects)
      if (matches_fields(*object, target.param("fieldSelector"))) text += event_text("ADDED", object->text);
    if (initial) text += bookmark_text(*target.resource, page.version, true);
    version = page.version;
    text = packed(text, binary);
  }
  if (!text.empty()) {
    const bool open = co_await write_chunk(stream, text);
    if (!open) co_return;
  }
  if (!refusal) co_await watch_changes(session, stream, target, binary, version);
  co_await write_chunk(stream, {});
}

asio::awaitable<void> ApiServer::State::watch_changes(Session& session, net::ByteStream& stream, const Target& target,
                                                      bool binary, std::uint64_t version) {
  session.watched = target.resource;
  const bool bookmarks = target.flag("allowWatchBookmarks");
  const std::string selector = target.param("fieldSelector");
  auto end = std::chrono::steady_clock::now() + std::chrono::hours(1);
  if (const std::string limit = target.param("timeoutSeconds"); !limit.empty())
    end = std::chrono::steady_clock::now() + std::chrono::seconds(std::stoll(limit));
  while (std::chrono::steady_clock::now() < end) {
    if (watches_held) {
      session.wake.expires_after(options.bookmark_period);
      co_await session.wake.async_wait(net::k_await);
      if (!stream.socket().socket().is_open()) co_return;
      continue;
    }
    std::optional<std::vector<Change>> changes = store.changes_after(*target.resource, version, 256);
    std::string text;
    const Faults now = current_faults();
    bool dropped = false;
    if (!changes || watches_refused) {
      text = event_text("ERROR", Refusal{410, "Expired", fmt::format("too old resource version: {}", version)}.text());
      if (binary) text = *to_protobuf_frames(text);
      co_await write_chunk(stream, text);
      co_return;
    }
    for (std::size_t i = 0; i + 1 < changes->size(); ++i) {
      const auto id = [](const Change& change) { return (change.after ? change.after : change.before)->uid; };
      if (id((*changes)[i]) != id((*changes)[i + 1]) && dice.roll(now.reordered_events))
        std::swap((*changes)[i], (*changes)[i + 1]);
    }
    for (const Change& change : *changes) {
      version = std::max(version, change.version);
      if (!target.ns.empty() && (change.after ? change.after : change.before)->ns != target.ns) continue;
      const std::string seen = seen_change(change, selector);
      text += seen;
      if (dice.roll(now.repeated_event)) text += seen;
      // Not between events that were swapped: a watch that resumes from the later one would never hear of the earlier.
      const bool in_order = std::all_of(changes->begin(), changes->end(), [&](const Change& other) {
        return other.version <= version ? &other <= &change : &other > &change;
      });
      dropped = in_order && dice.roll(now.dropped_watch);
      if (dropped) break;
    }
    if (!text.empty()) {
      text = packed(text, binary);
      const bool open = co_await write_chunk(stream, text);
      if (!open) co_return;
    }
    if (dropped) {
      stream.socket().close();
      co_return;
    }
    if (!changes->empty()) continue;
    session.wake.expires_after(options.bookmark_period);
    auto [woken] = co_await session.wake.async_wait(net::k_await);
    if (!stream.socket().socket().is_open()) co_return;
    if (woken || !bookmarks) continue;
    // What the bookmark covers is read first: a change that comes in between is no part of it.
    const std::uint64_t newest = store.version();
    const std::optional<std::vector<Change>> since = store.changes_after(*target.resource, version, 1);
    if (!since || !since->empty()) continue;
    version = std::max(version, newest);
    text = bookmark_text(*target.resource, version, false);
    if (binary) text = *to_protobuf_frames(text);
    const bool open = co_await write_chunk(stream, text);
    if (!open) co_return;
  }
}

void ApiServer::State::changed(const ApiResource* resource) {
  const std::lock_guard lock(mutex);
  ++change_count;
  news.notify_all();
  for (const std::shared_ptr<Session>& session : sessions)
    if (session->watched == resource) asio::post(session->executor, [session] { session->wake.cancel(); });
}

void ApiServer::State::close_all() {
  const std::lock_guard lock(mutex);
  for (const std::shared_ptr<Session>& session : sessions)
    asio::post(session->executor, [session] {
      if (session->close) session->close();
      session->wake.cancel();
    });
}

ApiServer::ApiServer(ApiServerOptions options) : state_(std::make_shared<State>(std::move(options))) {
  state_->listen();
}

ApiServer::~ApiServer() { state_->threads.stop(); }

std::uint16_t ApiServer::port() const { return state_->port; }
std::string ApiServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", state_->options.tls ? "https" : "http", state_->port);
}
const std::string& ApiServer::authority() const { return state_->authority; }

std::string ApiServer::kubeconfig() const {
  json::object out, cluster, user, context;
  cluster["server"] = url();
  if (state_->options.tls) cluster["certificate-authority-data"] = encode_base64(state_->authority);
  user["token"] = state_->options.token;
  context["cluster"] = "test";
  context["user"] = "test";
  const auto named = [](const char* what, json::object content) {
    json::object entry;
    entry["name"] = "test";
    entry[what] = std::move(content);
    return json::array(1, entry);
  };
  out["apiVersion"] = "v1";
  out["kind"] = "Config";
  out["current-context"] = "test";
  out["clusters"] = named("cluster", cluster);
  out["users"] = named("user", user);
  out["contexts"] = named("context", context);
  return json::serialize(out);
}

ApiStore& ApiServer::store() { return state_->store; }

StoredPtr ApiServer::create(const std::string& text) {
  const json::value object = json::parse(text);
  const std::string version = text_at(object, "/apiVersion"), kind = text_at(object, "/kind");
  const auto all = state_->store.resources();
  const auto resource = std::find_if(
      all.begin(), all.end(), [&](const ApiResource* r) { return r->api_version() == version && r->kind == kind; });
  BERTH_CHECK(resource != all.end(), "the test server has no {} {}", version, kind);
  std::string ns = text_at(object, "/metadata/namespace");
  if (ns.empty() && (*resource)->namespaced) ns = "default";
  Outcome<StoredPtr> made = state_->store.create(**resource, ns, object);
  BERTH_CHECK(made.ok(), "refused: {}", made.refusal.message);
  return *made.value;
}

void ApiServer::inject(const Faults& faults) {
  state_->dice.seed(faults.seed);
  const std::lock_guard lock(state_->mutex);
  state_->faults = faults;
}

void ApiServer::poison(const std::string& name, Poison poison) {
  const std::lock_guard lock(state_->mutex);
  state_->poisons[name] = std::move(poison);
}

void ApiServer::refuse_watches(bool refused) { state_->watches_refused = refused; }

void ApiServer::restart() {
  state_->store.compact();
  state_->close_all();
}

void ApiServer::hold_watches(bool held) { state_->watches_held = held; }

std::uint64_t ApiServer::await_change(std::uint64_t version, std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  state_->news.wait_for(lock, limit, [&] { return state_->change_count != version; });
  return state_->change_count;
}

std::map<std::string, std::size_t> ApiServer::request_counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

std::vector<ApiServer::Seen> ApiServer::writes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->writes;
}

}  // namespace berth::tests
