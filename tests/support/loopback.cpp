// SPDX-License-Identifier: Apache-2.0
#include "support/loopback.hpp"

#include <atomic>
#include <string>

#include "support/test_authority.hpp"

namespace berth::tests {

namespace asio = cluster::kube::asio;

std::string certify(asio::ssl::context& context) {
  // A name of its own: whoever trusts two of them finds each by its name.
  static std::atomic<int> count = 0;
  const TestAuthority authority("servers-" + std::to_string(++count));
  const SignedPair pair = authority.sign("127.0.0.1", {}, "serverAuth");
  context.use_certificate_chain(asio::buffer(pair.certificate));
  context.use_private_key(asio::buffer(pair.key), asio::ssl::context::pem);
  return authority.certificate();
}

std::uint16_t listen_on_loopback(asio::ip::tcp::acceptor& acceptor) {
  const asio::ip::tcp::endpoint any(asio::ip::make_address("127.0.0.1"), 0);
  acceptor.open(any.protocol());
  acceptor.bind(any);
  acceptor.listen();
  return acceptor.local_endpoint().port();
}

}  // namespace berth::tests
