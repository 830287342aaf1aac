// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "net/http_client.hpp"
#include "net/url.hpp"

namespace berth::extender {

/// One thing at a server: the server, and the path with its query.
struct Address {
  net::Url server;     // without a path
  std::string target;  // begins with a slash
};

/// What a Location means at an address: a URL, a path from the root, or one that replaces the last part.
/// Failure: no URL.
Result<Address> resolve_location(const Address& from, std::string_view location);

/// The servers that an extender sends its callers to, each with a client of its own, made when it is first named.
/// Threads: any. Failure: an Error when a server cannot be spoken to at all, or there are too many.
class Redirects {
 public:
  using MakeClient = std::function<Result<std::unique_ptr<net::HttpClient>>(const net::Url& server)>;
  explicit Redirects(MakeClient make) : make_(std::move(make)) {}

  ~Redirects() { stop(); }
  Redirects(const Redirects&) = delete;
  Redirects& operator=(const Redirects&) = delete;

  /// Lives as long as this does.
  Result<net::HttpClient*> client_of(const net::Url& server);
  /// As HttpClient::stop().
  void stop() noexcept;

 private:
  static constexpr std::size_t k_servers_max = 16;

  const MakeClient make_;
  Mutex mutex_;
  std::vector<std::pair<net::Url, std::unique_ptr<net::HttpClient>>> clients_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::extender
