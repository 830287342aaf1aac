// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/exec_plugin.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <future>
#include <vector>

#include "base/clock.hpp"
#include "cluster/kube/credentials.hpp"

namespace berth::cluster::kube {
namespace {

constexpr const char* k_version = "client.authentication.k8s.io/v1";

ClientConfig running(const std::string& script) {
  ClientConfig config;
  config.server = *parse_url("https://server:6443", "https");
  ExecPlugin plugin;
  plugin.api_version = k_version;
  plugin.command = "sh";
  plugin.args = {"-c", script};
  plugin.env = {{"GREETING", "hello"}};
  plugin.provides_cluster_info = true;
  config.auth.exec = plugin;
  return config;
}

Result<ExecCredential> run(const std::string& script) {
  return run_exec_plugin(running(script), std::chrono::seconds(20));
}

std::string credential(const std::string& status) {
  return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status + "}";
}

TEST(ExecPlugin, ItsTokenAndItsExpiryAreRead) {
  const auto got = run("printf '%s' '" +
                       credential(R"({"token":"'$GREETING'","expirationTimestamp":"1970-01-01T00:00:10Z"})") + "'");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->token, "hello");
  EXPECT_EQ(got->expires_wall_ns, 10'000'000'000);
}

TEST(ExecPlugin, IsToldAboutTheCluster) {
  const auto got = run(R"(case "$KUBERNETES_EXEC_INFO" in *'"server":"https://server:6443"'*) printf '%s' ')" +
                       credential(R"({"token":"told"})") + "' ;; esac");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->token, "told");
}

TEST(ExecPlugin, SaysWhatWentWrong) {
  EXPECT_NE(run("exit 3").error().message.find("exit code 3"), std::string::npos);
  EXPECT_NE(run("echo no").error().message.find("did not print an ExecCredential"), std::string::npos);
  EXPECT_NE(run("printf '%s' '" + credential("{}") + "'").error().message.find("neither a token nor"),
            std::string::npos);
  EXPECT_NE(
      run("printf '%s' '" + credential(R"({"clientKeyData":"k"})") + "'").error().message.find("without the other"),
      std::string::npos);
  ClientConfig missing = running("");
  missing.auth.exec->command = "berth-no-such-command";
  missing.auth.exec->install_hint = "install it from there";
  EXPECT_NE(run_exec_plugin(missing, std::chrono::seconds(1)).error().message.find("install it from there"),
            std::string::npos);
}

TEST(ExecPlugin, ANewCertificateAfterARefusalEndsOldConnections) {
  // Each run of the first shell has a number of its own.
  const ClientConfig changing =
      running("printf '%s' '" + credential(R"({"clientCertificateData":"c'$$'","clientKeyData":"k"})") + "'");
  const ClientConfig same =
      running("printf '%s' '" + credential(R"({"clientCertificateData":"c","clientKeyData":"k"})") + "'");
  const SystemClock clock;
  const auto generations = [&clock](const ClientConfig& config) {
    Credentials credentials(config, clock);
    std::vector<std::uint64_t> out;
    for (int i = 0; i < 3; ++i) {
      const Identity identity = *credentials.current();
      out.push_back(identity.generation);
      EXPECT_EQ(credentials.current()->generation, out.back()) << "not asked again";
      credentials.refused(identity);
    }
    return out;
  };
  EXPECT_EQ(generations(changing), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(generations(same), (std::vector<std::uint64_t>{0, 0, 0}));
}

TEST(ExecPlugin, ALateRefusalOfAnOlderCredentialChangesNothing) {
  const ClientConfig config = running("printf '%s' '" + credential(R"({"token":"run by '$$'"})") + "'");
  const SystemClock clock;
  Credentials credentials(config, clock);
  const Identity first = *credentials.current();
  credentials.refused(first);
  EXPECT_FALSE(credentials.at_once());
  const Identity second = *credentials.current();
  EXPECT_NE(first.authorization, second.authorization);
  credentials.refused(first);
  ASSERT_TRUE(credentials.at_once());
  EXPECT_EQ(credentials.at_once()->authorization, second.authorization);
}

/// A pipe with a name: opening it for reading waits for the one who writes, and the other way round.
class NamedPipe {
 public:
  explicit NamedPipe(const std::string& name)
      : path_(testing::TempDir() + "berth_" + name + "_" + std::to_string(::getpid())) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  }
  ~NamedPipe() { std::remove(path_.c_str()); }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
};

TEST(ExecPlugin, NobodyButWhoWantsItsAnswerWaitsForIt) {
  const NamedPipe begun("begun"), may_end("may_end");
  const ClientConfig config = running("echo >" + begun.path() + "; read line <" + may_end.path() + "; printf '%s' '" +
                                      credential(R"({"token":"run by '$$'"})") + "'");
  const SystemClock clock;
  Credentials credentials(config, clock);
  const auto authorization = [&] { return credentials.current()->authorization; };
  std::future<std::string> asking = std::async(std::launch::async, authorization);
  std::ifstream(begun.path()).get();  // it runs
  std::future<std::string> asking_too = std::async(std::launch::async, authorization);

  std::future<bool> looked = std::async(std::launch::async, [&] {
    credentials.refused({});
    return credentials.at_once().has_value();
  });
  const auto answered = looked.wait_for(std::chrono::seconds(10));
  std::ofstream(may_end.path()) << "\n";
  EXPECT_EQ(answered, std::future_status::ready);
  EXPECT_FALSE(looked.get());

  const std::string first = asking.get();
  EXPECT_EQ(first.substr(0, 14), "Bearer run by ");
  EXPECT_EQ(asking_too.get(), first) << "one run is enough for both";
  EXPECT_EQ(credentials.at_once()->authorization, first);
}

TEST(ExecPlugin, ThatDoesNotEndIsKilled) {
  const auto got = run_exec_plugin(running("exec cat /dev/zero"), std::chrono::milliseconds(200));
  ASSERT_FALSE(got.ok());
  const NamedPipe never("never");
  const std::string lingers = "printf '%s' '" + credential(R"({"token":"t"})") + "'; exec >&-; read x <" + never.path();
  const auto lingering = run_exec_plugin(running(lingers), std::chrono::milliseconds(200));
  ASSERT_FALSE(lingering.ok()) << "it has closed its output and goes on";
}

}  // namespace
}  // namespace berth::cluster::kube
