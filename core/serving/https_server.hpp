// SPDX-License-Identifier: Apache-2.0
#pragma once
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
struct Ask {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;
  std::string authorization;  // value of the header
  std::string accept;
  std::string body;

  bool has(std::string_view key) const;
};

struct Reply {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};

/// What an access check decided: nothing to say, or the refusal.
using Gate = std::function<std::optional<Reply>(const Ask& ask)>;
using Handler = std::function<Reply(const Ask& ask)>;

/// A path, or everything below it when it ends with "/".
struct Route {
  std::string path;
  Handler handler;
};

struct HttpsServerOptions {
  std::string address = "0.0.0.0";
  std::uint16_t port = 10259;  // 0: any free one
  KeyPair keys;
};

/// Answers HTTPS requests from a table of routes; the longest that matches answers, after the gate has let it pass.
///
/// Threads:   handlers and gate are called on the server's own threads, several at a time; they may block for a while.
/// Lifetime:  what they use outlives the server. The destructor waits for the calls that run.
/// Failure:   make() says why it cannot listen; a handler that throws answers 500.
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
