// SPDX-License-Identifier: Apache-2.0
#include "serving/record_limit.hpp"

#include <utility>

namespace berth::serving {
namespace {

constexpr int k_records_max = 32;  // callers renew their keys every 2^24 records, if at all

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
  if (*static_cast<const unsigned char*>(bytes) != SSL3_RT_APPLICATION_DATA) static_cast<RecordLimit*>(self)->count();
}

void RecordLimit::count() {
  if (++count_ <= k_records_max || !on_excess_) return;
  std::exchange(on_excess_, nullptr)();
}

}  // namespace berth::serving
