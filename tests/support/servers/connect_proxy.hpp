// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace berth::tests {

/// An HTTP proxy that opens tunnels (CONNECT) and passes requests on, spoken to plainly or through TLS. Threads: any;
/// it has one of its own.
class ConnectProxy {
 public:
  explicit ConnectProxy(bool tls);
  ~ConnectProxy();
  ConnectProxy(const ConnectProxy&) = delete;
  ConnectProxy& operator=(const ConnectProxy&) = delete;

  std::string url() const;
  /// PEM of the authority that signed its certificate; empty without TLS.
  const std::string& authority() const;
  /// Tunnels that were opened.
  std::size_t tunnels() const;
  /// Requests that were passed on.
  std::size_t forwarded() const;
  /// Proxy-Authorization of the last tunnel or request.
  std::string authorization() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::tests
