// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/endpoint.hpp"
#include "net/io_threads.hpp"
#include "net/write_fence.hpp"

namespace berth::net {

enum class Method : std::uint8_t { get, post, put, patch, del };

/// Tries beyond the first, for answers that say neither yes nor no (500, 503, 504, broken or refused connections). The
/// request must be one that may be carried out twice.
struct RetryPolicy {
  int retries = 0;
  std::chrono::milliseconds first_delay{10};
  double factor = 5;
  bool conflicts = false;  // 409 as well
  bool busy = false;       // and 429 that does not say when
  bool when_told = true;   // besides: answers that say Retry-After, as often as HttpClient says
  double jitter = 0.1;     // each delay is longer by up to this part of it
  std::chrono::milliseconds delay_max{std::chrono::hours(1)};  // before jitter
  bool only_silence = false;  // a request that was answered, however, is not sent again
};

struct Request {
  Method method = Method::get;
  std::string target = {};  // path and query, below the server's own path
  std::string body = {};
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::chrono::milliseconds timeout{30'000};  // of one try, from sending to the last byte
  // The timeout is that of the whole call, connecting and tries included; but for the wait for the limit, for an exec
  // plugin and for a place among the connections.
  bool timeout_of_all = false;
  RetryPolicy retry = {};
  bool written_once = false;  // never sent again once a byte of it was, not even on a connection that turns out closed
  std::uint64_t answer_bytes_max = 4 * 1024 * 1024;  // of its body, packed or not; more is ErrorCode::connection_broken
  bool urgent = false;  // goes before those that are not, but for one in ten when these have waited for long
  std::int32_t priority =
      0;  // among those as urgent: higher goes first, but for one in ten when others waited for long
  /// Asked each time right before the request is written, when limit and connection are there, on an I/O thread; quick.
  /// `may_be_done`: an earlier try may have been carried out. An Error: nothing is written, nothing is tried again, and
  /// that is the answer, also when an earlier try may have been carried out. Empty: always.
  std::function<Status(bool may_be_done)> may_go = {};
  std::uint64_t fence_ticket = 0;  // the client's: what the fence gave when the request was handed over
};

struct Response {
  int status = 0;
  std::string content_type;
  std::string body;  // unpacked
  std::optional<std::chrono::seconds> retry_after;
  bool was_uncertain = false;  // an earlier try may have been carried out as well
  std::string location = {};   // where it is to be asked instead; empty: not said
  std::string question = {};   // 307 and 308: the body of the request, which is asked for there
};

/// One call that came to its end, with all its tries.
struct CallReport {
  Method method = Method::get;
  int status = 0;  // of the last try; 0: no answer
  std::string host;
  std::chrono::nanoseconds held_back{0};              // by the client's own limit, and by those before it
  std::chrono::nanoseconds took{0};                   // waiting and tries included
  std::vector<int> retried;                           // status of each try but the first; 0: no answer
  std::size_t request_bytes = 0, response_bytes = 0;  // of bodies; of a stream only what was sent
};

struct HttpClientOptions {
  double qps = 50;  // negative: no limit
  std::int32_t burst = 100;
  std::string user_agent = "berth";
  std::size_t connections_max = 32;
  std::chrono::milliseconds patience{5'000};  // how long requests wait before one in ten of those that go is theirs
  bool accept_gzip = false;
  std::uint64_t seed = 1;  // of the jitter
  /// Writes that it does not admit any more are answered with ErrorCode::stopped. Null: all are sent.
  std::shared_ptr<const WriteFence> fence = {};
  /// Hears of every call, on an I/O thread; quick. May be empty.
  std::function<void(const CallReport& report)> on_call = {};
};

/// Requests to one server, as many at a time as there are connections, each answered once.
///
/// Place:    one per purpose (writes, events, lease, each resource that is watched), so that none waits for another's
///           limit.
/// Lifetime: IoThreads outlives it. Dropped with requests under way: their `done` is called with ErrorCode::stopped by
///           stop(), which the destructor calls.
/// Threads:  any; `done` is called on an I/O thread, or by stop().
/// Retries:  429 and 5xx that say Retry-After, at most ten times and when that is two minutes at most; GET also when the
///           connection broke. A connection that the server had closed while it was idle is replaced, whatever the
///           method: that is seen before writing, as a rule, and else from its silence, unless the request is to be
///           written once.
/// Bounds:   an answer's header has 65,000 bytes at most, its body what the request says; gzip is only read where it was
///           asked for. A connection that was not used for 90 seconds is not used again, nor is one that was idle while a
///           request on another ran out of time.
/// Failure:  an answer of any status is a Response; an Error has one of the codes in `failures`: broken also when an
///           earlier try broke, so that what unreachable says was certainly not done.
/// Source:   kubernetes v1.36 staging/src/k8s.io/client-go/rest/request.go. Departs: HTTP/1.1.
class HttpClient {
 public:
  using Done = std::function<void(Result<Response>)>;

  HttpClient(IoThreads& threads, std::shared_ptr<Endpoint> endpoint, HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Returns a number for raise_priority(); 0 when it is stopped.
  std::uint64_t send(Request request, Done done);
  /// Makes a request urgent that still waits; of others nothing is changed.
  void raise_priority(std::uint64_t number);
  /// Answers everything that is under way with an Error, and every later request at once. When it returns no `done`
  /// runs, and nothing is sent any more but the rest of what is half written. Requires: not called from inside one.
  void stop() noexcept;

  struct State;  // http_session.hpp
  const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace berth::net
