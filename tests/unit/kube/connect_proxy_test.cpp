// SPDX-License-Identifier: Apache-2.0
#include "support/servers/connect_proxy.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include "cluster/kube/read/api_status.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

struct ProxyCase {
  std::string name;
  bool tls_proxy = false, tls_server = false;
};

class ConnectProxyTest : public testing::TestWithParam<ProxyCase> {
 protected:
  static ApiServerOptions server_options() {
    ApiServerOptions options;
    options.tls = GetParam().tls_server;
    options.accept_anonymous = !GetParam().tls_server;  // tokens only go through TLS
    return options;
  }
  /// The answer to a request through the proxy, judged by these authorities.
  Result<net::Response> ask_through(const std::string& authorities) {
    text::Diagnostics problems;
    auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
    config->proxy = *net::parse_url(proxy.url(), "http");
    config->tls.authority = {authorities, {}};
    auto endpoint = cluster::kube::make_endpoint(std::move(*config), clock, [](const char*) { return std::string(); });
    if (!endpoint.ok()) return endpoint.error();
    net::HttpClient client(threads, *endpoint, {});
    net::Request request;
    request.target = "/version";
    return ask(client, std::move(request));
  }

  SystemClock clock;
  ApiServer server{server_options()};
  ConnectProxy proxy{GetParam().tls_proxy};
  net::IoThreads threads{1};
};

TEST_P(ConnectProxyTest, RequestsGoThroughIt) {
  const auto answer = ask_through(server.authority() + proxy.authority());
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(proxy.tunnels(), GetParam().tls_server ? 1U : 0U);
  EXPECT_EQ(proxy.forwarded(), GetParam().tls_server ? 0U : 1U) << "plain HTTP needs no tunnel";
  EXPECT_EQ(proxy.authorization(), "Basic bWU6c2VjcmV0");
}

TEST_P(ConnectProxyTest, AProxyOrServerWithAnUnknownAuthorityIsRefused) {
  if (!GetParam().tls_proxy && !GetParam().tls_server) GTEST_SKIP() << "no certificate is checked";
  const auto answer = ask_through(ConnectProxy(true).authority());  // another server's
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::unreachable);
  EXPECT_NE(answer.error().message.find("its certificate is not valid for 127.0.0.1"), std::string::npos)
      << answer.error().message;
  EXPECT_EQ(proxy.tunnels(), GetParam().tls_proxy ? 0U : 1U);
}

INSTANTIATE_TEST_SUITE_P(Ways, ConnectProxyTest,
                         testing::Values(ProxyCase{"plain_to_plain"}, ProxyCase{"plain_to_tls", false, true},
                                         ProxyCase{"tls_to_plain", true, false}, ProxyCase{"tls_to_tls", true, true}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace berth::tests
