// SPDX-License-Identifier: Apache-2.0
#include "support/api_server/real_api_server.hpp"

#include <spdlog/fmt/fmt.h>
#include <cstdlib>

#include "base/check.hpp"
#include "support/api_server/api_server.hpp"

namespace berth::tests {
namespace {

// Free a moment ago; nothing else on this machine asks for ports by number.
std::uint16_t free_port() { return ApiServer().port(); }

}  // namespace

std::unique_ptr<RealApiServer> RealApiServer::start() {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr || *assets == '\0') return nullptr;
  return std::unique_ptr<RealApiServer>(new RealApiServer(assets));
}

RealApiServer::RealApiServer(const std::string& assets) : port_(free_port()) {
  const std::string& path = directory_.path();
  const std::string etcd_url = fmt::format("http://127.0.0.1:{}", free_port());
  const std::string peer_url = fmt::format("http://127.0.0.1:{}", free_port());
  directory_.write("tokens.csv", "test-token,admin,1,\"system:masters\"\n");
  const int made = std::system(fmt::format("openssl genrsa -out {}/sa.key 2048 2>/dev/null", path).c_str());
  BERTH_CHECK(made == 0, "openssl cannot make a key");
  etcd_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{assets + "/etcd", "--data-dir", path + "/etcd", "--listen-client-urls", etcd_url,
                               "--advertise-client-urls", etcd_url, "--listen-peer-urls", peer_url,
                               "--unsafe-no-fsync"},
      path + "/etcd.log");
  server_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{
          assets + "/kube-apiserver", "--etcd-servers=" + etcd_url, fmt::format("--secure-port={}", port_),
          "--bind-address=127.0.0.1", "--cert-dir=" + path + "/certs", "--service-account-key-file=" + path + "/sa.key",
          "--service-account-signing-key-file=" + path + "/sa.key",
          "--service-account-issuer=https://kubernetes.default.svc", "--token-auth-file=" + path + "/tokens.csv",
          "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
          "--service-cluster-ip-range=10.0.0.0/24"},
      path + "/apiserver.log");
}

std::string RealApiServer::kubeconfig(std::uint16_t port) const {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Config","current-context":"r",)"
      R"("clusters":[{{"name":"r","cluster":{{"server":"https://127.0.0.1:{}","insecure-skip-tls-verify":true}}}}],)"
      R"("users":[{{"name":"r","user":{{"token":"test-token"}}}}],)"
      R"("contexts":[{{"name":"r","context":{{"cluster":"r","user":"r"}}}}]}})",
      port);
}

}  // namespace berth::tests
