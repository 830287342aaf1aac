// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "serving/https_server.hpp"
#include "serving/salted_digest.hpp"

namespace berth::app {

/// Lets the one user of a page on the loopback in, and neither other users of the machine nor the pages of other sites that
/// the user's browser shows: a GET for the loopback's own name, of a path that begins with a secret.
/// Threads: any.
class PageGate {
 public:
  /// Fails when the system has no random bytes.
  static Result<std::shared_ptr<PageGate>> make();

  /// "/SECRET/": 256 bits, in hex.
  const std::string& path() const noexcept { return path_; }
  /// What the server listens on: until this is known, none is let in.
  void listens_on(std::uint16_t port) noexcept { port_ = port; }
  serving::Admission judge(const serving::HttpRequest& ask) const;

 private:
  explicit PageGate(std::string path) : path_(std::move(path)), expected_(digest_.of(path_)) {}
  bool is_for_us(const serving::HttpRequest& ask) const;

  const std::string path_;
  const serving::SaltedDigest digest_;
  const std::optional<serving::SaltedDigest::Value> expected_;
  std::atomic<std::uint16_t> port_{0};
};

}  // namespace berth::app
