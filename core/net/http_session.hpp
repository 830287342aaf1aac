// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "net/connection.hpp"
#include "net/http_client.hpp"
#include "net/request_queue.hpp"
#include "net/token_bucket.hpp"
#include "net/wire/answer_parser.hpp"

// Internal to clients: HttpClient as its coroutines see it.
namespace berth::net {

/// An answer whose body is read piece by piece. Keeps its connection for itself; dropping it closes that.
class BodyStream {
 public:
  BodyStream(std::unique_ptr<Connection> connection, bool takes_gzip)
      : connection_(std::move(connection)), answer_({takes_gzip, std::nullopt, k_piece_bytes}) {}
  int status() const { return answer_.status(); }
  std::string_view content_type() const { return answer_.content_type(); }
  /// The next piece, unpacked, valid until the next call; empty: the end. Fails with ErrorCode::connection_broken, also when `limit`
  /// passes.
  asio::awaitable<Result<std::string_view>> read(std::chrono::milliseconds limit);
  /// The body of an answer that is not to be streamed, as much of it as comes within `limit`; 64 KiB at most.
  asio::awaitable<std::string> refusal_text(std::chrono::milliseconds limit);
  /// A read() that runs, and every later one, fails.
  void cancel();

 private:
  friend struct HttpClient::State;
  static constexpr std::size_t k_piece_bytes = 256 * 1024;

  std::unique_ptr<Connection> connection_;
  AnswerParser answer_;
};

/// Everything of a client. All of it runs on its strand; coroutines keep it alive.
struct HttpClient::State : std::enable_shared_from_this<HttpClient::State> {
  State(IoThreads& io_threads, std::shared_ptr<Endpoint> to, HttpClientOptions client_options);

  /// What a request has been through before its first try.
  struct Turn {
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::chrono::nanoseconds held_back{0};
    bool is_granted = false;  // the limit has let it go
  };
  /// One request with its limit and retries.
  asio::awaitable<Result<Response>> exchange(Request request, Turn turn);
  asio::awaitable<Result<Response>> exchange(Request request) { return exchange(std::move(request), Turn()); }
  /// Sends a GET and reads the head of the answer. No limit, no retries: who streams has its own.
  asio::awaitable<Result<std::unique_ptr<BodyStream>>> open(Request request);
  double random_unit() { return std::uniform_real_distribution<double>(0, 1)(random); }

  IoThreads& threads;
  const std::shared_ptr<Endpoint> endpoint;
  const HttpClientOptions options;
  const asio::strand<asio::io_context::executor_type> strand;
  TokenBucket limit;

  /// One of those who take requests until none is left. What waits is a request and nothing more: a scheduler decides
  /// faster than any server writes. Which one goes is decided when the limit lets one go, not before: a binding must
  /// not wait for what thousands of pods are to be told.
  asio::awaitable<void> work();

  using Waiting = RequestQueue::Waiting;
  Mutex pending_mutex;  // `stopped` is only written under it
  ConditionVariable answered;
  std::size_t answering GUARDED_BY(pending_mutex) = 0;  // calls of `done` that run now
  std::map<std::uint64_t, Done> pending GUARDED_BY(pending_mutex);
  RequestQueue urgent GUARDED_BY(pending_mutex), patient GUARDED_BY(pending_mutex);
  int urgent_in_a_row GUARDED_BY(pending_mutex) = 0;  // that went while patient ones waited
  std::size_t workers GUARDED_BY(pending_mutex) = 0;
  std::size_t at_the_limit GUARDED_BY(pending_mutex) = 0;  // workers that wait for it; each will take a request
  std::uint64_t next_pending GUARDED_BY(pending_mutex) = 1;
  std::atomic<bool> stopped{false};

 private:
  using Message = http::request<http::string_body>;
  struct Attempt {
    explicit Attempt(Result<Response> result, bool was_stale = false) : outcome(std::move(result)), stale(was_stale) {}
    Result<Response> outcome;
    bool stale;             // an idle connection had been closed: most likely nothing was asked
    bool is_final = false;  // the request said itself that it must not go
  };

  struct Tries {
    explicit Tries(const Turn& turn) : held_back(turn.held_back), is_granted(turn.is_granted) {}
    int by_policy = 0, by_server = 0;
    bool refreshed = false;      // the credential, after a 401
    bool was_uncertain = false;  // some try may have been carried out
    int made = 0;
    std::vector<int> retried;  // as of CallReport
    std::chrono::nanoseconds held_back;
    bool is_granted;  // the first try
  };

  /// Until the limit lets a request go; how long that took.
  asio::awaitable<std::chrono::nanoseconds> wait_for_limit();
  /// False for a write that the fence does not admit any more.
  bool is_admitted(const Request& request) const;
  /// The next to go, with what it has been through. Requires: one waits.
  std::pair<std::uint64_t, Waiting> take_next() REQUIRES(pending_mutex);
  asio::awaitable<Result<Response>> carry_out(const Request& request, Tries& tries);
  void report(CallReport made, std::chrono::steady_clock::time_point began) const;
  /// `who`: as whom it was tried; null: no credential could be had.
  std::optional<std::chrono::nanoseconds> next_try(const Request& request, const Identity* who, const Attempt& tried,
                                                   Tries& tries);
  asio::awaitable<Result<Identity>> identity();
  Message message(const Request& request, const Identity& identity) const;
  /// The request as it goes over the wire; fails on what cannot be said in HTTP.
  Result<std::string> question(const Request& request, const Identity& identity) const;
  asio::awaitable<Result<std::unique_ptr<Connection>>> acquire(Identity identity, Deadline end);
  void release(std::unique_ptr<Connection> connection);
  /// Closes connections that have been idle for at least that long.
  void drop_idle(std::chrono::nanoseconds at_least);
  asio::awaitable<Attempt> attempt(const Request& request, const Identity& identity, Deadline end, bool may_be_done);
  /// Asks on that connection; `keeps`: another request may follow on it.
  asio::awaitable<Attempt> converse(Connection& connection, const Request& request, const std::string& question,
                                    Deadline until, bool& keeps);
  asio::awaitable<Result<std::unique_ptr<BodyStream>>> open_stream(Request request);

  // Only on the strand.
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Connection>> idle;
  std::size_t open_count = 0;
  struct Waiter {
    asio::steady_timer turn;
    std::unique_ptr<Connection> connection = nullptr;
  };
  std::deque<Waiter*> waiting;  // for a connection; none is idle then
};

}  // namespace berth::net
