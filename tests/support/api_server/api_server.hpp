// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/api_server/api_store.hpp"
#include "support/poison.hpp"

namespace berth::tests {

/// What goes wrong, each as a probability per request (or per watch event). Drawn from a seed that tests print.
struct Faults {
  double dropped_watch = 0;     // per event: the connection ends without a word
  double gone = 0;              // per watch request: 410
  double conflict = 0;          // per write: 409, nothing done
  double too_many = 0;          // 429 with Retry-After
  double internal_error = 0;    // 500, nothing done
  double lost_answer = 0;       // per write: carried out, and the connection ends before the answer
  double truncated = 0;         // the body ends in the middle
  double slow = 0;              // the answer takes up to slow_max longer
  double unanswered = 0;        // the request is read, and nothing follows
  double repeated_event = 0;    // per watch event: sent twice
  double reordered_events = 0;  // per pair of watch events of different objects: swapped
  std::chrono::milliseconds slow_max{200};
  std::uint64_t seed = 1;
};

/// A write as it came, and what was answered.
struct SeenWrite {
  std::string method, target, body, content_type, user_agent, authorization;
  int status = 0;
  std::int64_t received_wall_ns = 0;
  bool is_answer_lost = false;  // carried out, and the client does not know
};

struct ApiServerOptions {
  bool tls = true;
  bool accept_anonymous = false;
  std::string token = "test-token";        // of the one user
  std::set<std::string> more_tokens = {};  // of others, who may do everything
  /// Of that user, as "create pods/binding": such a request is refused; it has all others. Watches are not refused.
  std::set<std::string> missing_rights = {};
  bool streaming_lists = true;  // sendInitialEvents is understood
  std::string absent_group;     // "events.k8s.io": an API group that the server does not have
  std::size_t page_max = 0;     // lists have at most that many items a page, whatever is asked; 0: no limit
  std::chrono::milliseconds bookmark_period{1000};
  std::size_t gzip_over_bytes = 1024;  // answers of that size are packed for those who take gzip
  std::size_t thread_count = 2;
  /// Is told of each write before it is answered, on a thread of the server, one at a time; then writes() keeps none.
  std::function<void(const SeenWrite&)> on_write;
};

/// A Kubernetes API server for tests: lists, watches, writes, reviews and discovery over TLS on a port of its own.
/// Answers are JSON, or protobuf for those who accept it, but for custom resources.
///
/// The contract suite holds it against a real one.
/// Threads: any. The destructor ends all connections.
class ApiServer {
 public:
  explicit ApiServer(ApiServerOptions options = {});
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  std::uint16_t port() const;
  std::string url() const;
  /// PEM of the authority that signed the server's certificate; empty without TLS.
  const std::string& authority() const;
  /// A kubeconfig for the one user.
  std::string kubeconfig() const;

  ApiStore& store();
  /// As a client's POST would: defaults, versions, events. Text is JSON. Requires: it is accepted.
  StoredPtr create(const std::string& text);
  void inject(const Faults& faults);
  /// From now on the object of that name goes out otherwise than it is.
  void poison(const std::string& name, Poison poison);
  /// Each watch is told that its version is too old, as an event, when it would be told of changes.
  void refuse_watches(bool refused);
  /// Ends all connections, forgets history and goes on: what a restart looks like from outside.
  void restart();
  /// Watches tell nothing new until they are let go; lists and snapshots show what is there.
  void hold_watches(bool held);

  /// Waits until something changes after the version that an earlier call gave, or `limit` has passed; the version now.
  std::uint64_t await_change(std::uint64_t version, std::chrono::milliseconds limit);

  /// Requests that were answered, by "METHOD path-pattern" ("GET pods", "WATCH pods", "POST pods/binding").
  std::map<std::string, std::size_t> request_counts() const;
  using Seen = SeenWrite;
  /// Writes in the order in which they came, with what was answered.
  std::vector<Seen> writes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::tests
