// SPDX-License-Identifier: Apache-2.0
#include "net/wire/record_limit.hpp"

#include <utility>

namespace berth::net {
namespace {

constexpr int k_records_max = 32;  // keys are renewed every 2^24 records, if at all
constexpr std::size_t k_data_bytes = 1 << 20;
constexpr std::size_t k_size_at = 3;  // in the header of a record: two bytes

}  // namespace

void RecordLimit::watch(SSL* connection, std::function<void()> on_excess) {
  on_excess_ = std::move(on_excess);
  SSL_set_msg_callback(connection, on_message);
  SSL_set_msg_callback_arg(connection, this);
}

/// OpenSSL tells of the header of each record, which in TLS 1.3 says "application data" whatever is in it, and there of
/// the true kind besides.
void RecordLimit::on_message(int is_sent, int, int content, const void* bytes, std::size_t size, SSL*, void* self) {
  if (is_sent != 0 || size == 0 || (content != SSL3_RT_HEADER && content != SSL3_RT_INNER_CONTENT_TYPE)) return;
  auto& limit = *static_cast<RecordLimit*>(self);
  const auto* const header = static_cast<const unsigned char*>(bytes);
  if (header[0] != SSL3_RT_APPLICATION_DATA) {
    limit.count();
  } else if (content == SSL3_RT_HEADER && size > k_size_at + 1) {
    limit.data_bytes_ += std::size_t{header[k_size_at]} << 8 | header[k_size_at + 1];
    if (limit.data_bytes_ >= k_data_bytes) limit.count_ = 0, limit.data_bytes_ = 0;
  }
}

void RecordLimit::count() {
  if (++count_ <= k_records_max || !on_excess_) return;
  std::exchange(on_excess_, nullptr)();
}

}  // namespace berth::net
