// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <functional>

// Internal to core/net and core/serving.
namespace berth::net {

/// Bounds what the other side of a connection may send, once the handshake is over, that is no part of a message: new keys
/// and tickets (TLS 1.3), wishes for another handshake (TLS 1.2, refused each time), alerts. Each costs work, and OpenSSL
/// takes any number. 32 such records may come for each request, and for each MiB of data.
///
/// Place:   between OpenSSL, which tells it of each record, and the connection that goes on or ends.
/// Threads: that of the connection. Lifetime: outlives the connection's SSL.
class RecordLimit {
 public:
  RecordLimit() = default;
  RecordLimit(const RecordLimit&) = delete;
  RecordLimit& operator=(const RecordLimit&) = delete;

  /// From here on records count. `on_excess` is called from within a read, once.
  void watch(SSL* connection, std::function<void()> on_excess);
  void begin_request() noexcept { count_ = 0; }

 private:
  static void on_message(int is_sent, int version, int content, const void* bytes, std::size_t size, SSL*, void* self);
  void count();

  int count_ = 0;
  std::size_t data_bytes_ = 0;  // since count_ began
  std::function<void()> on_excess_;
};

}  // namespace berth::net
