// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "serving/self_signed.hpp"

namespace berth::serving {

/// One request, as handlers see it.
struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string peer_chain;  // PEM of what the caller presented in the handshake, its own first; not verified
  bool has_route = false;  // a page has exactly this path

  bool has(std::string_view key) const;
  /// The first of that name (in lower case), or empty.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};  // further ones
};

/// What a gate decided.
struct Admission {
  Admission(std::optional<HttpResponse> refused, bool admitted = false)  // NOLINT: implicit by design
      : refusal(std::move(refused)), is_admitted(admitted) {}
  std::optional<HttpResponse> refusal;  // nothing: go on
  /// The caller is known, and may do what an unknown caller may not: its connection is the last that is ended for room.
  bool is_admitted = false;
};
using Gate = std::function<Admission(const HttpRequest& ask)>;
using Handler = std::function<HttpResponse(const HttpRequest& ask)>;

/// A path, or everything below it when it ends with "/".
struct Route {
  std::string path;
  Handler handler;
};

/// A certificate for callers that ask for certain names.
struct NamedKeys {
  std::vector<std::string> patterns;  // "*.x" for one label before ".x"; none: the names in the certificate
  KeyPair keys;
  friend bool operator==(const NamedKeys&, const NamedKeys&) = default;
};
struct ServingKeys {
  KeyPair any;  // for whatever name `named` has nothing for
  std::vector<NamedKeys> named;
  friend bool operator==(const ServingKeys&, const ServingKeys&) = default;
};

struct ServingCounts;
struct HttpsServerOptions {
  /// HTTP without TLS, for pages that need no credentials.
  bool is_plain = false;
  std::string address = "0.0.0.0";
  std::uint16_t port = 10259;  // 0: any free one
  KeyPair keys;
  std::vector<NamedKeys> named_keys = {};
  /// Read again once a minute, so that certificates can be changed; empty: the keys are for good.
  std::function<Result<ServingKeys>()> reload_keys = {};
  bool shares_port = false;                     // with other processes
  std::string min_version;                      // "VersionTLS12"; empty: that
  std::vector<std::string> cipher_suites = {};  // of TLS 1.2 and older, by IANA name; empty: OpenSSL's choice
  std::vector<int> curves = {};                 // TLS group numbers; empty: OpenSSL's choice
  /// True for requests whose gate may have to ask the API server: these have threads of their own, so that however many of
  /// them wait, the others are answered. Empty: there are none.
  std::function<bool(const HttpRequest& ask)> may_wait = {};
  /// Called on the server's threads after each answer was found.
  std::function<void(const HttpRequest& ask, const HttpResponse& reply, std::chrono::nanoseconds took)> on_answer = {};

  /// When there are so many, one is ended for each that comes: see ConnectionTable.
  std::size_t connections_max = 256;
  /// Connections that one address may open: a second in the long run, and at once. More are closed before the handshake.
  double connections_per_s = 100, connections_burst = 500;
  std::chrono::milliseconds handshake_limit{10'000};
  /// For a whole request, however its bytes drip; and for taking the answer.
  std::chrono::milliseconds request_limit{32'000};
  std::chrono::milliseconds idle_limit{90'000};  // between requests
  std::shared_ptr<ServingCounts> counts = {};    // kept by the server; null: they are not counted
};

/// Answers HTTPS requests from a table of routes; the longest that matches answers, after the gate has let it pass.
/// Connections, what each may send and how long it may take are bounded, and so are the requests that wait for the gate.
///
/// Threads:   handlers and gate are called on the server's own threads, several at a time; they may block for a while.
/// Lifetime:  what they use outlives the server. The destructor waits for the calls that run.
/// Failure:   make() says why it cannot listen; a handler that throws answers 500; whatever else throws ends one
///            connection. A request that cannot be read, or is too long, is answered with why, and that connection ends.
/// Source:    kubernetes v1.36 cmd/kube-scheduler/app/server.go (newHealthEndpointsAndMetricsHandler). Departs:
/// HTTP/1.1.
class HttpsServer {
 public:
  static Result<std::unique_ptr<HttpsServer>> make(HttpsServerOptions options, std::vector<Route> routes, Gate gate);
  ~HttpsServer();
  std::uint16_t port() const noexcept;

 private:
  struct State;
  explicit HttpsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace berth::serving
