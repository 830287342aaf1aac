// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "cluster/kube/client_config.hpp"
#include "cluster/kube/credentials.hpp"
#include "cluster/kube/kubeconfig.hpp"

namespace berth::cluster::kube {

class Addresses;  // addresses.hpp

/// One API server as one user: what all clients of it share. Certificates and keys are read again for new connections,
/// and looked at every minute; when they change, connections of the old identity end after their current request.
/// Threads: any.
class Endpoint {
 public:
  /// `clock` outlives it. Fails when the files that the configuration names cannot be used.
  static Result<std::shared_ptr<Endpoint>> make(ClientConfig config, const Clock& clock,
                                                const Environment& environment);
  ~Endpoint();

  const ClientConfig& config() const noexcept { return config_; }
  Credentials& credentials() noexcept { return credentials_; }
  const std::optional<Url>& proxy() const noexcept { return proxy_; }
  /// The proxy reads requests and passes them on, instead of a tunnel through it: so it is with plain HTTP.
  bool is_forwarded() const noexcept { return proxy_ && proxy_->scheme != "socks5" && !config_.server.secure(); }
  const Clock& clock() const noexcept { return clock_; }
  /// Of the proxy if there is one, else of the server.
  Addresses& addresses() const noexcept { return *addresses_; }

  struct Tls;  // asio.hpp's ssl context
  struct Current {
    std::shared_ptr<Tls> tls;  // null: server and proxy speak plain HTTP
    std::uint64_t epoch = 0;   // connections of an older one are not used again
  };
  /// Requires: `identity` comes from credentials().
  Result<Current> tls(const Identity& identity);

 private:
  Endpoint(ClientConfig config, const Clock& clock, std::optional<Url> proxy);

  const ClientConfig config_;
  const Clock& clock_;
  const std::optional<Url> proxy_;
  Credentials credentials_;
  const std::shared_ptr<Addresses> addresses_;

  std::mutex mutex_;  // guards all below
  Current current_;
  std::string material_;  // authority, certificate and key of current_
  std::int64_t checked_ns_ = 0;
};

}  // namespace berth::cluster::kube
