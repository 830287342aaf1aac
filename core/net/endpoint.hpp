// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/process/environment.hpp"
#include "base/result.hpp"
#include "net/url.hpp"

namespace berth::net {

class Addresses;  // dialer.hpp
class StopEvent;  // stop_event.hpp

/// PEM text, or the file that holds it. A file is read again whenever a connection is made, so that it may be rotated.
struct PemSource {
  std::string data;  // wins over the file
  std::string file;
  bool empty() const noexcept { return data.empty() && file.empty(); }
  friend bool operator==(const PemSource&, const PemSource&) = default;
};

struct TlsOptions {
  PemSource authority;  // empty: the system's roots
  PemSource certificate, key;
  std::string server_name;  // for SNI and verification; empty: the server's host
  bool insecure = false;    // the server's certificate is not verified
};

/// Who this process is to the server, for one request or one connection.
struct Identity {
  std::string authorization;  // value of the header; empty: none
  std::string source = {};    // where that comes from: "the token file /a/b"
  PemSource certificate, key;
  std::uint64_t generation = 0;  // grows when the certificate changes: old connections end
};

/// Where a client's identity comes from.
///
/// Threads: any. current() may block, as for a command that prints a credential; nothing else does.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  /// `stop`: ends the wait for a command; may be null.
  virtual Result<Identity> current(const StopEvent* stop = nullptr) = 0;
  /// The same where nothing may block; nothing: current() has to be called.
  virtual std::optional<Identity> at_once() = 0;
  /// The server answered 401 to a request of that identity.
  virtual void refused(const Identity& identity) = 0;
  /// A command makes the identity: it is not run before the first request, and once more after a 401.
  virtual bool runs_command() const = 0;
  /// Files that are read again while it is used; may hold empty names.
  virtual std::vector<std::string> files() const { return {}; }
  /// Header fields of every request, as for impersonation.
  virtual std::vector<std::pair<std::string, std::string>> headers() const { return {}; }
};

struct EndpointOptions {
  Url server;
  TlsOptions tls = {};
  std::optional<Url> proxy = {};  // absent: the environment decides
  bool takes_gzip = false;        // clients may ask for packed answers
};

/// One server as one user: what all clients of it share. Certificates and keys are read again for new connections, and
/// looked at every minute; when they change, connections of the old identity end after their current request.
/// Threads: any.
class Endpoint {
 public:
  /// `clock` outlives it. Fails when the files that the options or the authorizer name cannot be used.
  static Result<std::shared_ptr<Endpoint>> make(EndpointOptions options, std::unique_ptr<Authorizer> authorizer,
                                                const Clock& clock, const Environment& environment);
  ~Endpoint();

  const Url& server() const noexcept { return options_.server; }
  const TlsOptions& tls_options() const noexcept { return options_.tls; }
  bool takes_gzip() const noexcept { return options_.takes_gzip; }
  Authorizer& authorizer() const noexcept { return *authorizer_; }
  const std::optional<Url>& proxy() const noexcept { return options_.proxy; }
  /// The proxy reads requests and passes them on, instead of a tunnel through it: so it is with plain HTTP.
  bool is_forwarded() const noexcept {
    return options_.proxy && options_.proxy->scheme != "socks5" && !options_.server.secure();
  }
  const Clock& clock() const noexcept { return clock_; }
  /// Of the proxy if there is one, else of the server.
  Addresses& addresses() const noexcept { return *addresses_; }

  struct Tls;  // tls.hpp
  struct Current {
    std::shared_ptr<Tls> tls;  // null: server and proxy speak plain HTTP
    std::uint64_t epoch = 0;   // connections of an older one are not used again
  };
  /// Requires: `identity` comes from authorizer().
  Result<Current> tls(const Identity& identity);

 private:
  Endpoint(EndpointOptions options, std::unique_ptr<Authorizer> authorizer, const Clock& clock);

  const EndpointOptions options_;  // the proxy is the one that is used
  const Clock& clock_;
  const std::unique_ptr<Authorizer> authorizer_;
  const std::shared_ptr<Addresses> addresses_;

  Mutex mutex_;
  Current current_ GUARDED_BY(mutex_);
  std::string material_ GUARDED_BY(mutex_);  // authority, certificate and key of current_
  std::int64_t checked_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::net
