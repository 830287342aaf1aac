// SPDX-License-Identifier: Apache-2.0
#include "app/live/confinement.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/child_process.hpp"

namespace berth::app {
namespace {

class ConfinementTest : public testing::Test {
 protected:
  using Ports = std::vector<std::uint16_t>;

  cluster::kube::ClientConfig config(const std::string& url) const {
    cluster::kube::ClientConfig out;
    out.server = *net::parse_url(url, "https");
    out.tls.insecure = true;
    return out;
  }
  void add(cluster::kube::ClientConfig server) {
    servers.push_back(
        *cluster::kube::make_endpoint(std::move(server), clock, [](const char*) { return std::string(); }));
  }
  confine::Needs needs() const { return needs_of({options, flags, configuration, plugins, servers}); }
  static bool has(const std::vector<std::string>& paths, const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  }

  const tests::TemporaryDirectory directory;
  const SystemClock clock{};
  RunOptions options;
  FlagValues flags;
  config::Configuration configuration;
  PluginLibrary plugins;
  std::vector<std::shared_ptr<const net::Endpoint>> servers{nullptr};
};

TEST_F(ConfinementTest, ConnectionsGoToApiServersAndDnsAndWhatIsNamed) {
  add(config("https://a:6443"));
  add(config("https://b:8443"));
  options.sandbox.connect = {9090, 6443};
  EXPECT_EQ(needs().connect, (Ports{53, 6443, 8443, 9090}));
}

TEST_F(ConfinementTest, BehindAProxyOnlyTheProxyIsConnectedTo) {
  cluster::kube::ClientConfig behind = config("https://a:6443");
  behind.proxy = *net::parse_url("http://proxy:3128", "http");
  add(behind);
  EXPECT_EQ(needs().connect, (Ports{53, 3128}));
}

TEST_F(ConfinementTest, AnExtenderMaySendBerthToAnyPort) {
  configuration.extenders.emplace_back();
  configuration.extenders.back().tls.emplace();
  configuration.extenders.back().tls->ca_file = directory.path() + "/ca.crt";
  EXPECT_FALSE(needs().connect);
  EXPECT_TRUE(has(needs().read, directory.path()));
}

TEST_F(ConfinementTest, FoldersOfTokensAndOfServingKeysAreRead) {
  EXPECT_FALSE(has(needs().read, directory.path()));
  cluster::kube::ClientConfig server = config("https://a");
  server.auth.token_file = directory.write("token", "t");
  add(server);
  EXPECT_TRUE(has(needs().read, directory.path()));
  options.cert_dir = "/certs";
  options.authorities.client_ca_file = "/cas/ca.crt";
  flags.named_keys = {{"/named/a.crt", "/named/a.key", {}}};
  for (const char* folder : {"/certs", "/cas", "/named"}) EXPECT_TRUE(has(needs().read, folder)) << folder;
  EXPECT_TRUE(needs().write.empty()) << "keys have been made by then";
  options.secure_port = 0;
  EXPECT_FALSE(has(needs().read, "/certs"));
}

TEST_F(ConfinementTest, OnlyItsOwnPortsAreListenedOn) {
  EXPECT_EQ(needs().listen, Ports{10259});
  options.secure_port = 0;
  flags.health = FlagValues::PlainAddress{"127.0.0.1", 10251};
  EXPECT_EQ(needs().listen, Ports{10251});
}

TEST_F(ConfinementTest, ProgramsAreStartedForAnExecPluginAlone) {
  add(config("https://a"));
  EXPECT_FALSE(needs().programs);
  cluster::kube::ClientConfig server = config("https://b");
  server.auth.exec.emplace();
  add(server);
  EXPECT_TRUE(needs().programs);
}

}  // namespace
}  // namespace berth::app
