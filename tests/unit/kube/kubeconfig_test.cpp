// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/auth/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace berth::cluster::kube {
namespace {

constexpr const char* k_good = R"(apiVersion: v1
kind: Config
current-context: a
clusters:
- name: one
  cluster: {server: "https://10.0.0.1:6443/p", certificate-authority: pki/ca.crt, tls-server-name: kubernetes, proxy-url: socks5://proxy}
- name: two
  cluster: {server: two.example, insecure-skip-tls-verify: true, certificate-authority-data: ""}
users:
- name: cert
  user: {client-certificate-data: Y2VydA==, client-key: /keys/k, as: boss, as-groups: [g1, g2], as-user-extra: {scope: [x]}}
- name: exec
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, args: [a], env: [{name: N, value: V}], interactiveMode: Never, provideClusterInfo: true}
contexts:
- name: a
  context: {cluster: one, user: cert}
- name: b
  context: {cluster: two, user: exec}
)";

std::string problems_of(const std::string& text) {
  text::Diagnostics problems;
  EXPECT_FALSE(read_kubeconfig(text, "/etc/k/config", {}, problems));
  return problems.render();
}

TEST(Kubeconfig, ReadsClusterUserAndContext) {
  text::Diagnostics problems;
  const auto config = read_kubeconfig(k_good, "/etc/k/config", {}, problems);
  ASSERT_TRUE(config) << problems.render();
  EXPECT_EQ(config->server.authority(), "10.0.0.1:6443");
  EXPECT_EQ(config->server.path, "/p");
  EXPECT_EQ(config->tls.authority.file, "/etc/k/pki/ca.crt");
  EXPECT_EQ(config->tls.server_name, "kubernetes");
  EXPECT_EQ(config->tls.certificate.data, "cert");
  EXPECT_EQ(config->tls.key.file, "/keys/k");
  EXPECT_EQ(config->proxy->scheme, "socks5");
  EXPECT_EQ(config->impersonation.user, "boss");
  EXPECT_EQ(config->impersonation.groups, (std::vector<std::string>{"g1", "g2"}));
}

TEST(Kubeconfig, AnotherContextAndServerMayBeChosen) {
  text::Diagnostics problems;
  const auto config = read_kubeconfig(k_good, "/etc/k/config", {"b", {}}, problems);
  ASSERT_TRUE(config) << problems.render();
  EXPECT_EQ(config->server.scheme, "https");  // because there are TLS fields
  EXPECT_TRUE(config->tls.insecure);
  ASSERT_TRUE(config->auth.exec);
  EXPECT_EQ(config->auth.exec->command, "/etc/k/login");
  EXPECT_TRUE(config->auth.exec->provides_cluster_info);
  const auto elsewhere = read_kubeconfig(k_good, "/etc/k/config", {{}, "https://other:1"}, problems);
  EXPECT_EQ(elsewhere->server.authority(), "other:1");
}

TEST(Kubeconfig, EverythingWrongIsSaidAtItsPlace) {
  EXPECT_EQ(problems_of("a: ["), "/etc/k/config:1:1: malformed YAML: end of sequence flow not found\n");
  EXPECT_NE(problems_of("{}").find("current-context: names no context"), std::string::npos);
  const std::string text = R"(current-context: a
clusters:
- name: one
  cluster: {server: "https://x y", insecure-skip-tls-verify: true, certificate-authority: ca, certificate-authority-data: "%%"}
users:
- name: u
  user: {token: t, username: n, client-certificate: c, exec: {apiVersion: v0, command: "", interactiveMode: Always}}
contexts:
- name: a
  context: {cluster: one, user: u}
)";
  const std::string said = problems_of(text);
  for (const char* expected :
       {"4:21: clusters[0].cluster.server: \"https://x y\" is not the URL",
        "insecure-skip-tls-verify: must not be true", "certificate-authority-data: is not base64",
        "client-certificate and client-key must be given together", "a token or a password, not both",
        "\"v0\" is not a version of exec plugins", "needs a command", "no terminal"})
    EXPECT_NE(said.find(expected), std::string::npos) << expected << " not in\n" << said;
}

TEST(Kubeconfig, NamesThatAreNotThereAreSaid) {
  EXPECT_NE(problems_of("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]")
                .find("there is no cluster \"c\""),
            std::string::npos);
  EXPECT_NE(problems_of("current-context: z").find("there is no context \"z\""), std::string::npos);
}

TEST(InCluster, NeedsVariablesAndAToken) {
  const auto directory = std::filesystem::path(testing::TempDir()) / ("berth_sa_" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  std::map<std::string, std::string> variables{{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                               {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto environment = [&](const char* name) { return variables[name]; };
  EXPECT_FALSE(in_cluster_config(environment, directory).ok());
  std::ofstream(directory / "token") << "t";
  std::ofstream(directory / "ca.crt") << "c";
  const auto config = in_cluster_config(environment, directory);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server.authority(), "[fd00::1]:443");
  EXPECT_EQ(config->tls.authority.file, (directory / "ca.crt").string());
  variables.clear();
  EXPECT_FALSE(in_cluster_config(environment, directory).ok());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace berth::cluster::kube
