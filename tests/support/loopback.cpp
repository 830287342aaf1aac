// SPDX-License-Identifier: Apache-2.0
#include "support/loopback.hpp"

#include <chrono>

#include "base/check.hpp"
#include "serving/self_signed.hpp"

namespace berth::tests {

namespace asio = cluster::kube::asio;

std::string certify(asio::ssl::context& context) {
  // One for all servers of a test: keys take long to make.
  static const auto pair = [] {
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    return serving::make_self_signed({}, std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count());
  }();
  BERTH_CHECK(pair.ok(), "no certificate: {}", pair.error().message);
  context.use_certificate_chain(asio::buffer(pair->certificate));
  context.use_private_key(asio::buffer(pair->key), asio::ssl::context::pem);
  return pair->authority;
}

std::uint16_t listen_on_loopback(asio::ip::tcp::acceptor& acceptor) {
  const asio::ip::tcp::endpoint any(asio::ip::make_address("127.0.0.1"), 0);
  acceptor.open(any.protocol());
  acceptor.bind(any);
  acceptor.listen();
  return acceptor.local_endpoint().port();
}

}  // namespace berth::tests
