// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/reflector.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/backoff.hpp"
#include "cluster/kube/read/object_answers.hpp"
#include "cluster/kube/read/silence_limit.hpp"
#include "net/http_session.hpp"
#include "observe/log.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::chrono::seconds k_quiet_limit{120};  // a list that sends nothing for that long is broken
constexpr std::chrono::seconds k_short_watch{1};    // a watch that ends sooner has failed, whatever it told
constexpr int k_page_tries = 5;
constexpr std::chrono::minutes k_not_served_retry{1};  // for resources that the server may get later
constexpr std::chrono::milliseconds k_catch_up_retry{500};
constexpr int k_catch_up_tries_max = 5;                     // with a server that answers; then the whole list is read
constexpr int k_unreadable_in_a_row_max = 100;              // of a watch; then the whole list is read again
constexpr std::chrono::milliseconds k_step_patience{1000};  // for a watch to come to the newest version
constexpr std::chrono::seconds k_settled{30};  // a watch that is open for that long has told what it missed
constexpr std::string_view k_pods_resource = "core/v1/pods", k_nodes_resource = "core/v1/nodes";

/// Versions of one resource may be compared as numbers; 0 for what is none.
std::uint64_t number_of(const std::string& version) { return model::ResourceVersion(version).number(); }

}  // namespace

std::string ResourceTarget::path() const {
  return resource.starts_with("core/") ? "/api/" + resource.substr(5) : "/apis/" + resource;
}

struct Reflector::State : std::enable_shared_from_this<Reflector::State> {
  State(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, ResourceTarget what,
        std::shared_ptr<ReflectorSink> to, std::shared_ptr<const decode::ObjectDecoder> with,
        const net::HttpClientOptions& client, ReflectorOptions given)
      : http(std::make_shared<net::HttpClient::State>(threads, std::move(endpoint), client)),
        target(std::move(what)),
        sink(std::move(to)),
        decoder(std::move(with)),
        layout(decode::wire_layout_of(target.resource)),
        options(std::move(given)),
        undecodable(target.resource),
        pause(http->strand),
        streams(options.streaming_lists),
        backoff(options.backoff_initial_s, options.backoff_max_s),
        away(options.backoff_initial_s, options.away_max_s) {}

  asio::awaitable<void> run();
  asio::awaitable<void> catch_up(std::function<void()> done, std::chrono::milliseconds patience);

  const std::shared_ptr<net::HttpClient::State> http;
  const ResourceTarget target;
  const std::shared_ptr<ReflectorSink> sink;
  const std::shared_ptr<const decode::ObjectDecoder> decoder;
  const decode::WireLayout layout;
  const ReflectorOptions options;

  Mutex sink_mutex;  // guards the calls of the sink as well
  bool stopped GUARDED_BY(sink_mutex) = false;

  struct {
    std::atomic<std::uint64_t> snapshots{0}, watches{0}, events{0}, bookmarks{0}, failures{0}, back_offs{0};
  } counted;
  UndecodableLog undecodable;

 private:
  asio::awaitable<Status> whole(asio::awaitable<Status> step);
  asio::awaitable<Status> snapshot();
  asio::awaitable<Status> streamed_snapshot(const std::string& from);
  asio::awaitable<Status> listed_snapshot(std::string from);
  asio::awaitable<Result<ListMetadata>> page(std::string query);
  asio::awaitable<Status> watch();
  asio::awaitable<Status> follow(std::unique_ptr<net::BodyStream> body, bool in_snapshot);
  asio::awaitable<Result<std::unique_ptr<net::BodyStream>>> open(std::string query);
  void note_silence() const {
    observe::V(2).info("A watch was silent for too long and is reopened",
                       {{"resource", target.resource}, {"forMs", options.watch_silence_max.count()}});
  }
  enum class Step { snapshot, watch };
  asio::awaitable<void> back_off(const Error& error, Step failed);
  asio::awaitable<void> rest(std::chrono::nanoseconds how_long);
  asio::awaitable<Result<std::string>> newest_version();

  void seen(std::string newer);
  bool is_caught_up() const { return number_of(version) >= number_of(wanted); }
  void caught_up();
  void take_snapshot_now();
  void fall_behind();
  void come_in_step();
  void opened();
  void confirm_step();
  void step_confirmed(std::uint64_t opening);

  void take_event(std::string_view type, const text::Document* document, const text::Value* object,
                  const text::Diagnostics& diagnostics, bool& in_snapshot, Status& outcome);
  void take_bookmark(const text::Value& object, bool& in_snapshot);
  Status take_object(const text::Document* document, const text::Value* object, const decode::TypeHint& hint,
                     const text::Diagnostics& diagnostics, bool in_snapshot);
  Status take_deletion(const text::Value& object, const text::Diagnostics& diagnostics, bool in_snapshot);
  Status take_unreadable(Undecodable reason, decode::Remains remains, const text::Diagnostics& diagnostics,
                         bool in_snapshot);
  std::optional<decode::Decoded> decode(const text::Document& document, const text::Value& object,
                                        const decode::TypeHint& hint, text::Diagnostics& diagnostics);
  bool holds_pods() const { return target.resource == k_pods_resource; }
  template <typename Call>
  void tell(Call&& call) {
    const Lock lock(sink_mutex);
    if (!stopped) call(*sink);
  }
  void log_once(const Error& error);
  std::string common_query() const {
    return target.field_selector.empty() ? "" : "&fieldSelector=" + net::percent_encode(target.field_selector);
  }
  std::chrono::seconds watch_limit() { return std::chrono::seconds(300 + static_cast<int>(http->random_unit() * 300)); }

  // Only on the strand.
  asio::steady_timer pause;                       // between tries
  net::BodyStream* following = nullptr;           // the watch that is being read
  std::string wanted;                             // version to be reached; empty: none
  std::vector<std::function<void()>> when_there;  // called when it is
  bool snapshot_wanted = false;                   // instead of waiting for the watch
  bool streams;                                   // this server is asked for streaming lists
  std::unique_ptr<net::BodyStream> open_watch;    // the one that brought the snapshot, to be followed
  std::string version;                            // of the newest thing seen; empty: nothing yet
  Backoff backoff, away;                          // away: while the server cannot be reached
  int unreadable_in_a_row = 0;
  std::string last_error;
  // What on_step is told.
  bool in_step = false;
  bool is_open = false;                                  // the watch
  std::uint64_t openings = 0;                            // of the watch
  std::chrono::steady_clock::time_point opened_at{};     // the newest of them
  bool confirming = false;                               // the newest version is asked for
  std::chrono::steady_clock::time_point behind_since{};  // not in step since then
};

void Reflector::State::log_once(const Error& error) {
  counted.failures.fetch_add(1, std::memory_order_relaxed);
  if (last_error == error.message) return;
  last_error = error.message;
  observe::warning("Failed to list or watch", {{"err", error.message}, {"resource", target.resource}});
}

asio::awaitable<void> Reflector::State::back_off(const Error& error, Step failed) {
  counted.back_offs.fetch_add(1, std::memory_order_relaxed);
  const auto now_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  // A server that starts breaks watches off and refuses them a few times. To open one again costs it little; a whole list
  // does not.
  const bool is_cheap = failed == Step::watch &&
                        (error.code == ErrorCode::connection_broken || error.code == ErrorCode::service_unavailable);
  Backoff& grown = error.code == ErrorCode::unreachable || is_cheap ? away : backoff;
  const std::chrono::nanoseconds wait = grown.next(now_ns, http->random_unit());
  co_await rest(wait);
}

/// Waits, unless a snapshot is wanted meanwhile.
asio::awaitable<void> Reflector::State::rest(std::chrono::nanoseconds how_long) {
  pause.expires_after(how_long);
  co_await pause.async_wait(net::k_await);
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
  net::Request request;
  request.target = target.path() + "?limit=1";  // without a version: what the server's store holds, not its cache
  request.accept = k_metadata_only_list;
  request.answer_bytes_max = k_object_bytes_max;
  Result<net::Response> response = co_await http->exchange(std::move(request));
  const Result<std::string> body = body_of(std::move(response));
  if (!body.ok()) co_return body.error();
  text::Diagnostics diagnostics;
  const auto documents = text::parse_go_json(*body, target.resource, diagnostics);
  if (documents.empty()) co_return Error{"the list is not JSON", ErrorCode::connection_broken};
  co_return std::string(documents.front().root().text_at("metadata.resourceVersion"));
}

asio::awaitable<void> Reflector::State::catch_up(std::function<void()> done, std::chrono::milliseconds patience) {
  for (int refused = 0;;) {
    const Result<std::string> newest = co_await newest_version();
    if (newest.ok()) {
      when_there.push_back(std::move(done));
      if (number_of(*newest) == 0 || number_of(wanted) < number_of(*newest)) wanted = *newest;
      break;
    }
    if (newest.error().code == ErrorCode::not_found) {
      done();
      co_return;
    }
    log_once(newest.error());
    // What makes the first object of a list unreadable may stay so, and any user may have made it.
    if (newest.error().code != ErrorCode::unreachable && ++refused == k_catch_up_tries_max) {
      when_there.push_back(std::move(done));
      take_snapshot_now();
      co_return;
    }
    co_await net::wait_for(k_catch_up_retry);
  }
  if (number_of(wanted) != 0 && is_caught_up()) {
    caught_up();
    co_return;
  }
  co_await net::wait_for(patience);
  if (!when_there.empty()) take_snapshot_now();
}

// Whether the watch is in step. A watch that is opened again first tells what it missed, and nothing in it says where
// that ends.

void Reflector::State::fall_behind() {
  is_open = false;
  if (!options.on_step || !std::exchange(in_step, false)) return;
  behind_since = std::chrono::steady_clock::now();
  tell([this](ReflectorSink&) { options.on_step(false); });
}

void Reflector::State::come_in_step() {
  if (!options.on_step || std::exchange(in_step, true)) return;
  tell([this](ReflectorSink&) { options.on_step(true); });
}

void Reflector::State::opened() {
  is_open = true;
  opened_at = std::chrono::steady_clock::now();
  ++openings;
  if (!options.on_step || in_step) return;
  if (std::chrono::steady_clock::now() - behind_since < options.short_gap)
    come_in_step();
  else
    confirm_step();
}

void Reflector::State::confirm_step() {
  // Also where the newest version cannot be learned.
  asio::co_spawn(
      http->strand,
      [](std::shared_ptr<State> self, std::uint64_t opening) -> asio::awaitable<void> {
        co_await net::wait_for(k_settled);
        if (self->is_open && self->openings == opening) self->come_in_step();
      }(shared_from_this(), openings),
      net::end_of_coroutine);
  if (std::exchange(confirming, true)) return;
  asio::co_spawn(
      http->strand,
      [](std::shared_ptr<State> self, std::uint64_t opening) -> asio::awaitable<void> {
        State* const state = self.get();  // which makes the call: it is there
        try {
          co_await state->catch_up([state, opening] { state->step_confirmed(opening); }, k_step_patience);
        } catch (const std::exception& error) {
          net::IoThreads::count_exception("the newest version of " + state->target.resource, error.what());
          state->confirming = false;
        }
      }(shared_from_this(), openings),
      net::end_of_coroutine);
}

void Reflector::State::step_confirmed(std::uint64_t opening) {
  confirming = false;
  if (!is_open) return;
  if (opening == openings)
    come_in_step();
  else
    confirm_step();  // it broke meanwhile: what was asked for may be older than that
}

/// With an exception as what it is here: a reason to try again.
asio::awaitable<Status> Reflector::State::whole(asio::awaitable<Status> step) {
  try {
    co_return co_await std::move(step);
  } catch (const std::exception& error) {
    net::IoThreads::count_exception("a list or watch of " + target.resource, error.what());
    co_return Error{error.what(), ErrorCode::connection_broken};
  }
}

asio::awaitable<void> Reflector::State::run() {
  bool listed = false;
  for (;;) {
    if (std::exchange(snapshot_wanted, false)) listed = false;
    if (!listed) {
      fall_behind();
      const Status status = co_await whole(snapshot());
      if (!status.ok()) {
        tell([](ReflectorSink& s) { s.snapshot_failed(); });
        log_once(status.error());
        if (status.error().code == ErrorCode::not_found) {
          tell([](ReflectorSink& s) { s.not_served(); });
          co_await rest(k_not_served_retry);
        } else {
          co_await back_off(status.error(), Step::snapshot);
        }
        continue;
      }
      counted.snapshots.fetch_add(1, std::memory_order_relaxed);
      behind_since = std::chrono::steady_clock::now();
      listed = true;
      last_error.clear();
    }
    if (snapshot_wanted) continue;
    const Status ended = co_await whole(watch());
    if (is_open && std::chrono::steady_clock::now() - opened_at >= options.good_watch) {
      backoff.start_over();
      away.start_over();
    }
    fall_behind();
    if (ended.ok() || snapshot_wanted) continue;  // the server's time was up, or a snapshot comes instead
    const Error& error = ended.error();
    log_once(error);
    // What the server has forgotten is listed again, but never at once: it may forget it again.
    // A connection that cannot be made says nothing about the version; so does a server that is too busy.
    listed = error.code == ErrorCode::unreachable || error.code == ErrorCode::connection_broken ||
             error.code == ErrorCode::too_many_requests || error.code == ErrorCode::internal_error ||
             error.code == ErrorCode::service_unavailable;
    co_await back_off(error, Step::watch);
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
    } else if (streams && tries < 2 && error.code == ErrorCode::invalid) {
      streams = false;  // an older server
    } else {
      co_return status;
    }
    tell([](ReflectorSink& s) { s.snapshot_failed(); });
  }
}

asio::awaitable<Result<std::unique_ptr<net::BodyStream>>> Reflector::State::open(std::string query) {
  net::Request request;
  request.target = target.path() + "?" + query + common_query();
  if (layout.message != nullptr) request.accept = options.accept;
  Result<std::unique_ptr<net::BodyStream>> body = co_await http->open(std::move(request));
  if (!body.ok()) co_return body.error();
  if ((*body)->status() == 200) co_return std::move(body);
  co_return api_error((*body)->status(), co_await (*body)->refusal_text(k_quiet_limit));
}

asio::awaitable<Status> Reflector::State::streamed_snapshot(const std::string& from) {
  const auto limit = watch_limit();
  std::string query = fmt::format(
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds={}",
      limit.count());
  if (!from.empty()) query += "&resourceVersion=" + net::percent_encode(from);
  Result<std::unique_ptr<net::BodyStream>> body = co_await open(std::move(query));
  if (!body.ok()) co_return body.error();
  tell([](ReflectorSink& s) { s.snapshot_started(); });
  co_return co_await follow(std::move(*body), true);
}

asio::awaitable<Status> Reflector::State::listed_snapshot(std::string from) {
  tell([](ReflectorSink& s) { s.snapshot_started(); });
  std::string query =
      from.empty() || from == "0" ? fmt::format("limit={}", options.page_items) : std::string("limit=0");
  if (!from.empty()) query += "&resourceVersion=" + net::percent_encode(from);
  std::string list_version;
  for (;;) {
    Result<ListMetadata> metadata = co_await page(query);
    // A page that broke is asked for again: what it had delivered is delivered twice, which changes nothing.
    for (int tries = 1; tries < k_page_tries && !metadata.ok() && is_transient(metadata.error()); ++tries) {
      log_once(metadata.error());
      co_await back_off(metadata.error(), Step::snapshot);
      metadata = co_await page(query);
    }
    if (!metadata.ok()) co_return metadata.error();
    if (list_version.empty()) list_version = metadata->version;
    const std::string next = metadata->next;
    if (next.empty()) break;
    query = fmt::format("limit={}&continue={}", options.page_items, net::percent_encode(next));
  }
  tell([](ReflectorSink& s) { s.snapshot_ended(); });
  seen(list_version);
  co_return Unit{};
}

/// One page of a list, item by item as it arrives; the list's metadata.
asio::awaitable<Result<ListMetadata>> Reflector::State::page(std::string query) {
  Result<std::unique_ptr<net::BodyStream>> body = co_await open(std::move(query));
  if (!body.ok()) co_return body.error();
  const std::unique_ptr<ListBody> list = make_list_body(
      (*body)->content_type(), layout, target.resource,
      [this](const text::Document* document, const decode::TypeHint& hint, const text::Diagnostics& diagnostics) {
        const text::Value* const item = document == nullptr ? nullptr : &document->root();
        (void)take_object(document, item, hint, diagnostics, true);  // good: it is in a snapshot
      });
  for (;;) {
    const Result<std::string_view> piece = co_await (*body)->read(k_quiet_limit);
    if (!piece.ok()) co_return piece.error();
    if (piece->empty()) break;
    if (const Status cut = list->add(*piece); !cut.ok())
      co_return Error{cut.error().message, ErrorCode::connection_broken};
  }
  Result<ListMetadata> metadata = list->end();
  if (!metadata.ok()) co_return Error{metadata.error().message, ErrorCode::connection_broken};
  co_return metadata;
}

asio::awaitable<Status> Reflector::State::watch() {
  if (open_watch != nullptr) {  // the stream that brought the snapshot goes on
    come_in_step();
    opened();
    co_return co_await follow(std::move(open_watch), false);
  }
  const auto limit = watch_limit();
  std::string query = fmt::format("watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                                  limit.count(), net::percent_encode(version));
  Result<std::unique_ptr<net::BodyStream>> body = co_await open(std::move(query));
  if (!body.ok()) co_return body.error();
  counted.watches.fetch_add(1, std::memory_order_relaxed);
  opened();
  co_return co_await follow(std::move(*body), false);
}

/// Reads a watch until it ends, or until its snapshot is complete; then the stream is kept for watch().
asio::awaitable<Status> Reflector::State::follow(std::unique_ptr<net::BodyStream> body, bool in_snapshot) {
  const auto started = std::chrono::steady_clock::now();
  const bool is_snapshot = in_snapshot;
  Status outcome = Unit{};
  struct Following {
    net::BodyStream*& place;
    ~Following() { place = nullptr; }
  };
  const Following guard{following};
  if (!in_snapshot) following = body.get();
  const std::unique_ptr<WatchBody> events =
      make_watch_body(body->content_type(), layout, target.resource,
                      [&](std::string_view type, const text::Document* document, const text::Value* object,
                          const text::Diagnostics& diagnostics) {
                        if (outcome.ok()) take_event(type, document, object, diagnostics, in_snapshot, outcome);
                      });
  SilenceLimit silence(http->endpoint->clock(), options.watch_silence_max);
  std::uint64_t told = counted.events.load() + counted.bookmarks.load();
  for (;;) {
    const bool is_watch = !(is_snapshot && in_snapshot);
    const std::uint64_t told_now = counted.events.load() + counted.bookmarks.load();
    if (std::exchange(told, told_now) != told_now || !is_watch) silence.heard();
    std::chrono::milliseconds limit = silence.left();
    if (limit.count() == 0) {
      note_silence();
      fall_behind();
      behind_since = {};  // for longer than is known
      co_return Unit{};
    }
    if (!is_watch) limit = k_quiet_limit;
    const Result<std::string_view> piece = co_await body->read(limit);
    if (!piece.ok() && is_watch && silence.left().count() == 0) continue;
    if (!piece.ok()) co_return piece.error();
    if (piece->empty()) break;
    if (const Status read = events->add(*piece); !read.ok())
      co_return Error{read.error().message, ErrorCode::connection_broken};
    if (!outcome.ok()) co_return outcome;
    if (is_snapshot && !in_snapshot && !events->is_amid()) {
      open_watch = std::move(body);
      co_return Unit{};
    }
  }
  if (in_snapshot) co_return Error{"the snapshot broke off", ErrorCode::connection_broken};
  if (std::chrono::steady_clock::now() - started < k_short_watch)
    co_return Error{"the watch ended at once", ErrorCode::connection_broken};
  co_return Unit{};
}

void Reflector::State::take_event(std::string_view type, const text::Document* document, const text::Value* object,
                                  const text::Diagnostics& diagnostics, bool& in_snapshot, Status& outcome) {
  if (type == "ERROR" && object != nullptr) {
    const text::Value* code = object->find("code");
    outcome =
        api_error(static_cast<int>(code == nullptr ? 500 : code->integer().value_or(500)), text::to_json(*object));
    return;
  }
  if (type == "BOOKMARK" && object != nullptr) return take_bookmark(*object, in_snapshot);
  counted.events.fetch_add(1, std::memory_order_relaxed);
  if (type == "DELETED" && object != nullptr)
    outcome = take_deletion(*object, diagnostics, in_snapshot);
  else if (type == "ADDED" || type == "MODIFIED" || object == nullptr)
    outcome = take_object(document, object, {}, diagnostics, in_snapshot);
  if (!outcome.ok() || in_snapshot || object == nullptr) return;
  // The version of a snapshot is that of its end: before it, objects come in any order.
  if (std::string object_version(object->text_at("metadata.resourceVersion")); !object_version.empty())
    seen(std::move(object_version));
}

void Reflector::State::take_bookmark(const text::Value& object, bool& in_snapshot) {
  counted.bookmarks.fetch_add(1, std::memory_order_relaxed);
  const text::Value* annotations = object.find_path("metadata.annotations");
  const text::Value* end = annotations == nullptr ? nullptr : annotations->find("k8s.io/initial-events-end");
  if (in_snapshot && end != nullptr && end->text() == "true") {
    in_snapshot = false;
    tell([](ReflectorSink& s) { s.snapshot_ended(); });
  }
  if (std::string bookmark(object.text_at("metadata.resourceVersion")); !bookmark.empty()) seen(std::move(bookmark));
}

Status Reflector::State::take_object(const text::Document* document, const text::Value* object,
                                     const decode::TypeHint& hint, const text::Diagnostics& diagnostics,
                                     bool in_snapshot) {
  if (object == nullptr) {
    decode::Remains nothing;
    nothing.may_be_bound = holds_pods();
    return take_unreadable(Undecodable::malformed, std::move(nothing), diagnostics, in_snapshot);
  }
  text::Diagnostics own = diagnostics;
  std::optional<decode::Decoded> decoded;
  if (diagnostics.empty()) decoded = decode(*document, *object, hint, own);
  if (decoded) {
    unreadable_in_a_row = 0;
    tell([&](ReflectorSink& s) { s.present(std::move(*decoded), in_snapshot); });
    return Unit{};
  }
  const bool is_whole = diagnostics.empty();
  if (is_whole && own.empty()) return Unit{};  // of a kind that was not asked for
  return take_unreadable(is_whole ? Undecodable::invalid : Undecodable::malformed,
                         decoder->remains_of(*document, *object, holds_pods(), is_whole), own, in_snapshot);
}

Status Reflector::State::take_deletion(const text::Value& object, const text::Diagnostics& diagnostics,
                                       bool in_snapshot) {
  const decode::ObjectIdentity gone = decode::identity_of(object, holds_pods());
  if (gone.name.empty()) {
    text::Diagnostics own = diagnostics;
    own.add(target.resource, {}, "metadata.name", "what was deleted has no name");
    return take_unreadable(Undecodable::malformed, {}, own, in_snapshot);
  }
  tell([&](ReflectorSink& s) { s.absent(gone); });
  return Unit{};
}

/// Good: the stream goes on.
Status Reflector::State::take_unreadable(Undecodable reason, decode::Remains remains,
                                         const text::Diagnostics& diagnostics, bool in_snapshot) {
  const bool has_name = !remains.identity.name.empty();
  undecodable.note(has_name ? reason : Undecodable::nameless, remains.identity, diagnostics);
  if (has_name || in_snapshot) tell([&](ReflectorSink& s) { s.unreadable(std::move(remains), in_snapshot); });
  if (in_snapshot) return Unit{};
  if (!has_name) return Error{"an event of the watch names no object"};
  if (++unreadable_in_a_row < k_unreadable_in_a_row_max) return Unit{};
  unreadable_in_a_row = 0;
  return Error{"too many objects of the watch cannot be read"};
}

std::optional<decode::Decoded> Reflector::State::decode(const text::Document& document, const text::Value& object,
                                                        const decode::TypeHint& hint, text::Diagnostics& diagnostics) {
  std::optional<decode::Decoded> decoded = decoder->decode(document, object, diagnostics, hint);
  if (!decoded) return decoded;
  const model::PodPtr* const pod = std::get_if<model::PodPtr>(&*decoded);
  const bool is_node = std::holds_alternative<model::NodePtr>(*decoded);
  if (holds_pods() != (pod != nullptr) || (target.resource == k_nodes_resource) != is_node)
    diagnostics.add(document.file(), object.position(), "kind", "must be one of " + target.resource);
  else if (pod != nullptr && (*pod)->uid.empty())
    diagnostics.add(document.file(), object.position(), "metadata.uid", "a pod of a server needs a uid");
  if (!diagnostics.empty()) decoded.reset();
  return decoded;
}

Reflector::Reflector(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, ResourceTarget target,
                     std::shared_ptr<ReflectorSink> sink, std::shared_ptr<const decode::ObjectDecoder> decoder,
                     const net::HttpClientOptions& client, ReflectorOptions options)
    : state_(std::make_shared<State>(threads, std::move(endpoint), std::move(target), std::move(sink),
                                     std::move(decoder), client, std::move(options))) {}

Reflector::~Reflector() { stop(); }

void Reflector::start() {
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state) -> asio::awaitable<void> { co_await state->run(); }(state_),
      net::end_of_coroutine);
}

void Reflector::catch_up(std::function<void()> done, std::chrono::milliseconds patience) {
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state, std::function<void()> when,
         std::chrono::milliseconds wait) -> asio::awaitable<void> {
        co_await state->catch_up(std::move(when), wait);
      }(state_, std::move(done), patience),
      net::end_of_coroutine);
}

void Reflector::stop() noexcept {
  const Lock lock(state_->sink_mutex);
  state_->stopped = true;
}

Reflector::Counts Reflector::counts() const {
  const auto& c = state_->counted;
  return {c.snapshots, c.watches, c.events, c.bookmarks, c.failures, c.back_offs, state_->undecodable.counts()};
}

}  // namespace berth::cluster::kube
