// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/reflector.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "cluster/cluster_writer.hpp"
#include "cluster/kube/answer_body.hpp"
#include "cluster/kube/api_status.hpp"
#include "cluster/kube/transport.hpp"
#include "observe/log.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::chrono::seconds k_quiet_limit{120};  // a list that sends nothing for that long is broken
constexpr std::chrono::seconds k_watch_slack{30};   // beyond the time-out that the server was asked for
constexpr std::chrono::seconds k_short_watch{1};    // a watch that ends sooner, without an event, has failed
constexpr std::chrono::seconds k_calm_resets{120};  // after that long without failure the back-off starts anew
constexpr int k_page_tries = 5;
constexpr std::chrono::minutes k_not_served_retry{1};  // for resources that the server may get later
constexpr std::chrono::milliseconds k_catch_up_retry{500};

std::string string_in(const text::Value& value, std::string_view path) {
  const text::Value* found = value.find_path(path);
  return found != nullptr && found->is_string() ? std::string(found->text()) : std::string();
}

/// Versions of one resource may be compared as numbers; 0 for what is none.
std::uint64_t number_of(const std::string& version) { return model::ResourceVersion(version).number(); }

}  // namespace

std::string ResourceTarget::path() const {
  return resource.starts_with("core/") ? "/api/" + resource.substr(5) : "/apis/" + resource;
}

struct Reflector::State {
  State(IoThreads& threads, std::shared_ptr<Endpoint> endpoint, ResourceTarget what, std::shared_ptr<ReflectorSink> to,
        std::shared_ptr<const decode::ObjectDecoder> with, const HttpClientOptions& client, ReflectorOptions given)
      : http(std::make_shared<HttpClient::State>(threads, std::move(endpoint), client)),
        target(std::move(what)),
        sink(std::move(to)),
        decoder(std::move(with)),
        layout(decode::wire_layout_of(target.resource)),
        options(std::move(given)),
        pause(http->strand),
        streams(options.streaming_lists) {}

  asio::awaitable<void> run();
  asio::awaitable<void> catch_up(std::function<void()> done, std::chrono::milliseconds patience);

  const std::shared_ptr<HttpClient::State> http;
  const ResourceTarget target;
  const std::shared_ptr<ReflectorSink> sink;
  const std::shared_ptr<const decode::ObjectDecoder> decoder;
  const decode::WireLayout layout;
  const ReflectorOptions options;

  std::mutex sink_mutex;  // guards the sink and `stopped`
  bool stopped = false;

  struct {
    std::atomic<std::uint64_t> snapshots{0}, watches{0}, events{0}, bookmarks{0}, failures{0}, undecodable{0};
  } counted;

 private:
  asio::awaitable<Status> snapshot();
  asio::awaitable<Status> streamed_snapshot(const std::string& from);
  asio::awaitable<Status> listed_snapshot(std::string from);
  asio::awaitable<Result<ListMetadata>> page(std::string query);
  asio::awaitable<Status> watch();
  asio::awaitable<Status> follow(std::unique_ptr<BodyStream> body, bool in_snapshot);
  asio::awaitable<Result<std::unique_ptr<BodyStream>>> open(std::string query);
  asio::awaitable<void> back_off();
  asio::awaitable<void> rest(std::chrono::nanoseconds how_long);
  asio::awaitable<Result<std::string>> newest_version();

  void seen(std::string newer);
  bool is_caught_up() const { return number_of(version) >= number_of(wanted); }
  void caught_up();
  void take_snapshot_now();

  void take_event(std::string_view type, const text::Document& document, const text::Value& object, bool& in_snapshot,
                  Status& outcome);
  void take_item(const text::Document* document, const decode::TypeHint& hint, const text::Problems& problems);
  std::optional<decode::Decoded> decode(const text::Document& document, const text::Value& object,
                                        const decode::TypeHint& hint);
  template <typename Call>
  void tell(Call&& call) {
    const std::lock_guard lock(sink_mutex);
    if (!stopped) call(*sink);
  }
  void complain(const Error& error);
  std::string common_query() const {
    return target.field_selector.empty() ? "" : "&fieldSelector=" + percent_encode(target.field_selector);
  }
  std::chrono::seconds watch_limit() { return std::chrono::seconds(300 + static_cast<int>(http->random_unit() * 300)); }

  // Only on the strand.
  asio::steady_timer pause;                       // between tries
  BodyStream* following = nullptr;                // the watch that is being read
  std::string wanted;                             // version to be reached; empty: none
  std::vector<std::function<void()>> when_there;  // called when it is
  bool snapshot_wanted = false;                   // instead of waiting for the watch
  bool streams;                                   // this server is asked for streaming lists
  std::unique_ptr<BodyStream> open_watch;         // the one that brought the snapshot, to be followed
  std::string version;                            // of the newest thing seen; empty: nothing yet
  double backoff_s = 0;
  std::chrono::steady_clock::time_point last_failure;
  std::string last_complaint;
};

void Reflector::State::complain(const Error& error) {
  counted.failures.fetch_add(1, std::memory_order_relaxed);
  if (last_complaint == error.message) return;
  last_complaint = error.message;
  observe::warning("Failed to list or watch", {{"err", error.message}, {"resource", target.resource}});
}

asio::awaitable<void> Reflector::State::back_off() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_failure > k_calm_resets) backoff_s = 0;
  last_failure = now;
  backoff_s = backoff_s == 0 ? options.backoff_initial_s : std::min(backoff_s * 2, options.backoff_max_s);
  const double wait_s = backoff_s * (1 + http->random_unit());
  co_await rest(std::chrono::nanoseconds(static_cast<std::int64_t>(wait_s * 1e9)));
}

/// Waits, unless a snapshot is wanted meanwhile.
asio::awaitable<void> Reflector::State::rest(std::chrono::nanoseconds how_long) {
  pause.expires_after(how_long);
  co_await pause.async_wait(k_await);
}

void Reflector::State::seen(std::string newer) {
  version = std::move(newer);
  if (!when_there.empty() && number_of(wanted) != 0 && is_caught_up()) caught_up();
}

void Reflector::State::caught_up() {
  wanted.clear();
  snapshot_wanted = false;
  for (const std::function<void()>& done : std::exchange(when_there, {})) done();
}

void Reflector::State::take_snapshot_now() {
  snapshot_wanted = true;
  pause.cancel();
  if (following != nullptr) following->cancel();
}

asio::awaitable<Result<std::string>> Reflector::State::newest_version() {
  Request request;
  request.target = target.path() + "?limit=1";  // without a version: what the server's store holds, not its cache
  Result<Response> response = co_await http->exchange(std::move(request));
  const Result<std::string> body = body_of(std::move(response));
  if (!body.ok()) co_return body.error();
  text::Problems problems;
  const auto documents = text::parse_json(*body, target.resource, problems);
  if (documents.empty()) co_return Error{"the list is not JSON", std::string(failures::broken)};
  co_return string_in(documents.front().root(), "metadata.resourceVersion");
}

asio::awaitable<void> Reflector::State::catch_up(std::function<void()> done, std::chrono::milliseconds patience) {
  for (;;) {
    const Result<std::string> newest = co_await newest_version();
    if (newest.ok()) {
      when_there.push_back(std::move(done));
      if (number_of(*newest) == 0 || number_of(wanted) < number_of(*newest)) wanted = *newest;
      break;
    }
    if (newest.error().code == reasons::not_found) {
      done();
      co_return;
    }
    complain(newest.error());
    co_await wait_for(k_catch_up_retry);
  }
  if (number_of(wanted) != 0 && is_caught_up()) {
    caught_up();
    co_return;
  }
  co_await wait_for(patience);
  if (!when_there.empty()) take_snapshot_now();
}

asio::awaitable<void> Reflector::State::run() {
  bool listed = false;
  for (;;) {
    if (std::exchange(snapshot_wanted, false)) listed = false;
    if (!listed) {
      const Status status = co_await snapshot();
      if (!status.ok()) {
        tell([](ReflectorSink& s) { s.snapshot_failed(); });
        complain(status.error());
        if (status.error().code == reasons::not_found) {
          tell([](ReflectorSink& s) { s.not_served(); });
          co_await rest(k_not_served_retry);
        } else {
          co_await back_off();
        }
        continue;
      }
      counted.snapshots.fetch_add(1, std::memory_order_relaxed);
      listed = true;
      last_complaint.clear();
    }
    if (snapshot_wanted) continue;
    const Status ended = co_await watch();
    if (ended.ok() || snapshot_wanted) continue;  // the server's time was up, or a snapshot comes instead
    const Error& error = ended.error();
    if (is_expired(error)) {
      listed = false;
      continue;
    }
    complain(error);
    // A connection that cannot be made says nothing about the version; so does a server that is too busy.
    listed = error.code == failures::unreachable || error.code == failures::broken ||
             error.code == reasons::too_many_requests || error.code == reasons::internal_error ||
             error.code == reasons::service_unavailable;
    co_await back_off();
  }
}

asio::awaitable<Status> Reflector::State::snapshot() {
  // Not older than what was seen; when the server cannot do that, whatever it holds to be the newest.
  const std::string goal = wanted;
  std::string from = is_caught_up() ? version : goal;
  for (int tries = 0;; ++tries) {
    // Arguments of co_await are named: GCC 12 destroys the temporaries of a conditional expression twice.
    Status status = Unit{};
    std::string start = from;
    if (!streams && from.empty() && tries == 0) start = "0";
    if (streams)
      status = co_await streamed_snapshot(start);
    else
      status = co_await listed_snapshot(std::move(start));
    if (status.ok()) {
      // It is not older than what was wanted when it began.
      if (!when_there.empty() && goal == wanted) caught_up();
      co_return status;
    }
    const Error& error = status.error();
    if (tries < 2 && is_expired(error)) {
      from.clear();
    } else if (streams && tries < 2 && error.code == reasons::invalid) {
      streams = false;  // an older server
    } else {
      co_return status;
    }
    tell([](ReflectorSink& s) { s.snapshot_failed(); });
  }
}

asio::awaitable<Result<std::unique_ptr<BodyStream>>> Reflector::State::open(std::string query) {
  Request request;
  request.target = target.path() + "?" + query + common_query();
  if (layout.message != nullptr) request.accept = options.accept;
  Result<std::unique_ptr<BodyStream>> body = co_await http->open(std::move(request));
  if (!body.ok()) co_return body.error();
  if ((*body)->status() == 200) co_return std::move(body);
  co_return co_await (*body)->refusal(k_quiet_limit);
}

asio::awaitable<Status> Reflector::State::streamed_snapshot(const std::string& from) {
  const auto limit = watch_limit();
  std::string query = fmt::format(
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds={}",
      limit.count());
  if (!from.empty()) query += "&resourceVersion=" + percent_encode(from);
  Result<std::unique_ptr<BodyStream>> body = co_await open(std::move(query));
  if (!body.ok()) co_return body.error();
  tell([](ReflectorSink& s) { s.snapshot_started(); });
  co_return co_await follow(std::move(*body), true);
}

asio::awaitable<Status> Reflector::State::listed_snapshot(std::string from) {
  tell([](ReflectorSink& s) { s.snapshot_started(); });
  std::string query =
      from.empty() || from == "0" ? fmt::format("limit={}", options.page_items) : std::string("limit=0");
  if (!from.empty()) query += "&resourceVersion=" + percent_encode(from);
  std::string list_version;
  for (;;) {
    Result<ListMetadata> metadata = co_await page(query);
    // A page that broke is asked for again: what it had delivered is delivered twice, which changes nothing.
    for (int tries = 1; tries < k_page_tries && !metadata.ok() && is_transient(metadata.error()); ++tries) {
      complain(metadata.error());
      co_await back_off();
      metadata = co_await page(query);
    }
    if (!metadata.ok()) co_return metadata.error();
    if (list_version.empty()) list_version = metadata->version;
    const std::string next = metadata->next;
    if (next.empty()) break;
    query = fmt::format("limit={}&continue={}", options.page_items, percent_encode(next));
  }
  tell([](ReflectorSink& s) { s.snapshot_ended(); });
  seen(list_version);
  co_return Unit{};
}

/// One page of a list, item by item as it arrives; the list's metadata.
asio::awaitable<Result<ListMetadata>> Reflector::State::page(std::string query) {
  Result<std::unique_ptr<BodyStream>> body = co_await open(std::move(query));
  if (!body.ok()) co_return body.error();
  const std::unique_ptr<ListBody> list =
      make_list_body((*body)->content_type(), layout, target.resource,
                     [this](const text::Document* document, const decode::TypeHint& hint,
                            const text::Problems& problems) { take_item(document, hint, problems); });
  for (;;) {
    const Result<std::string_view> piece = co_await (*body)->read(k_quiet_limit);
    if (!piece.ok()) co_return piece.error();
    if (piece->empty()) break;
    if (const Status cut = list->add(*piece); !cut.ok())
      co_return Error{cut.error().message, std::string(failures::broken)};
  }
  Result<ListMetadata> metadata = list->end();
  if (!metadata.ok()) co_return Error{metadata.error().message, std::string(failures::broken)};
  co_return metadata;
}

asio::awaitable<Status> Reflector::State::watch() {
  if (open_watch != nullptr) {  // the stream that brought the snapshot goes on
    co_return co_await follow(std::move(open_watch), false);
  }
  const auto limit = watch_limit();
  std::string query = fmt::format("watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                                  limit.count(), percent_encode(version));
  Result<std::unique_ptr<BodyStream>> body = co_await open(std::move(query));
  if (!body.ok()) co_return body.error();
  counted.watches.fetch_add(1, std::memory_order_relaxed);
  co_return co_await follow(std::move(*body), false);
}

/// Reads a watch until it ends, or until its snapshot is complete; then the stream is kept for watch().
asio::awaitable<Status> Reflector::State::follow(std::unique_ptr<BodyStream> body, bool in_snapshot) {
  const auto started = std::chrono::steady_clock::now();
  const std::uint64_t events_before = counted.events.load() + counted.bookmarks.load();
  const bool is_snapshot = in_snapshot;
  Status outcome = Unit{};
  struct Following {
    BodyStream*& place;
    ~Following() { place = nullptr; }
  };
  const Following guard{following};
  if (!in_snapshot) following = body.get();
  const std::unique_ptr<WatchBody> events =
      make_watch_body(body->content_type(), layout, target.resource,
                      [&](std::string_view type, const text::Document& document, const text::Value& object) {
                        if (outcome.ok()) take_event(type, document, object, in_snapshot, outcome);
                      });
  for (;;) {
    const auto quiet = is_snapshot && in_snapshot
                           ? std::chrono::milliseconds(k_quiet_limit)
                           : std::chrono::milliseconds(std::chrono::seconds(600) + k_watch_slack);
    const Result<std::string_view> piece = co_await body->read(quiet);
    if (!piece.ok()) co_return piece.error();
    if (piece->empty()) break;
    if (const Status read = events->add(*piece); !read.ok())
      co_return Error{read.error().message, std::string(failures::broken)};
    if (!outcome.ok()) co_return outcome;
    if (is_snapshot && !in_snapshot && !events->is_amid()) {
      open_watch = std::move(body);
      co_return Unit{};
    }
  }
  if (in_snapshot) co_return Error{"the snapshot broke off", std::string(failures::broken)};
  const bool silent = counted.events.load() + counted.bookmarks.load() == events_before;
  if (silent && std::chrono::steady_clock::now() - started < k_short_watch)
    co_return Error{"the watch ended at once", std::string(failures::broken)};
  co_return Unit{};
}

void Reflector::State::take_event(std::string_view type, const text::Document& document, const text::Value& object,
                                  bool& in_snapshot, Status& outcome) {
  if (type == "ERROR") {
    const text::Value* code = object.find("code");
    outcome = api_error(static_cast<int>(code == nullptr ? 500 : code->integer().value_or(500)), text::to_json(object));
    return;
  }
  const std::string object_version = string_in(object, "metadata.resourceVersion");
  if (type == "BOOKMARK") {
    counted.bookmarks.fetch_add(1, std::memory_order_relaxed);
    const text::Value* annotations = object.find_path("metadata.annotations");
    const text::Value* end = annotations == nullptr ? nullptr : annotations->find("k8s.io/initial-events-end");
    if (in_snapshot && end != nullptr && end->text() == "true") {
      in_snapshot = false;
      tell([](ReflectorSink& s) { s.snapshot_ended(); });
    }
    seen(object_version);
    return;
  }
  counted.events.fetch_add(1, std::memory_order_relaxed);
  std::optional<decode::Decoded> decoded = decode(document, object, {});
  if (decoded && (type == "ADDED" || type == "MODIFIED"))
    tell([&](ReflectorSink& s) { s.present(std::move(*decoded), in_snapshot); });
  else if (decoded && type == "DELETED")
    tell([&](ReflectorSink& s) { s.absent(*decoded); });
  // The version of a snapshot is that of its end: before it, objects come in any order.
  if (!in_snapshot && !object_version.empty()) seen(object_version);
}

void Reflector::State::take_item(const text::Document* document, const decode::TypeHint& hint,
                                 const text::Problems& problems) {
  if (document == nullptr) {
    counted.undecodable.fetch_add(1, std::memory_order_relaxed);
    observe::error("An item of a list cannot be read", {{"err", problems.render()}, {"resource", target.resource}});
    return;
  }
  if (std::optional<decode::Decoded> decoded = decode(*document, document->root(), hint))
    tell([&](ReflectorSink& s) { s.present(std::move(*decoded), true); });
}

std::optional<decode::Decoded> Reflector::State::decode(const text::Document& document, const text::Value& object,
                                                        const decode::TypeHint& hint) {
  text::Problems problems;
  std::optional<decode::Decoded> decoded = decoder->decode(document, object, problems, hint);
  if (!decoded) {
    counted.undecodable.fetch_add(1, std::memory_order_relaxed);
    const std::string ns(string_in(object, "metadata.namespace")), name(string_in(object, "metadata.name"));
    observe::error(
        "An object cannot be used",
        {{"err", problems.render()}, {"resource", target.resource}, {"object", observe::ObjectName{ns, name}}});
  }
  return decoded;
}

Reflector::Reflector(IoThreads& threads, std::shared_ptr<Endpoint> endpoint, ResourceTarget target,
                     std::shared_ptr<ReflectorSink> sink, std::shared_ptr<const decode::ObjectDecoder> decoder,
                     const HttpClientOptions& client, ReflectorOptions options)
    : state_(std::make_shared<State>(threads, std::move(endpoint), std::move(target), std::move(sink),
                                     std::move(decoder), client, std::move(options))) {}

Reflector::~Reflector() { stop(); }

void Reflector::start() {
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state) -> asio::awaitable<void> { co_await state->run(); }(state_), end_of_coroutine);
}

void Reflector::catch_up(std::function<void()> done, std::chrono::milliseconds patience) {
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state, std::function<void()> when,
         std::chrono::milliseconds wait) -> asio::awaitable<void> {
        co_await state->catch_up(std::move(when), wait);
      }(state_, std::move(done), patience),
      end_of_coroutine);
}

void Reflector::stop() noexcept {
  const std::lock_guard lock(state_->sink_mutex);
  state_->stopped = true;
}

Reflector::Counts Reflector::counts() const {
  const auto& c = state_->counted;
  return {c.snapshots, c.watches, c.events, c.bookmarks, c.failures, c.undecodable};
}

}  // namespace berth::cluster::kube
