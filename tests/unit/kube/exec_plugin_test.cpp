// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/auth/exec_plugin.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <future>
#include <vector>

#include "base/clock.hpp"
#include "cluster/kube/auth/credentials.hpp"
#include "net/stop_event.hpp"

namespace berth::cluster::kube {
namespace {

constexpr const char* k_version = "client.authentication.k8s.io/v1";

ClientConfig running(const std::string& script) {
  ClientConfig config;
  config.server = *net::parse_url("https://server:6443", "https");
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
  const auto generations = [](const ClientConfig& config) {
    ManualClock clock;
    Credentials credentials(config, clock);
    std::vector<std::uint64_t> out;
    for (int i = 0; i < 3; ++i) {
      clock.advance(std::chrono::minutes(1));
      const net::Identity identity = *credentials.current();
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
  const SystemClock clock{};
  Credentials credentials(config, clock);
  const net::Identity first = *credentials.current();
  credentials.refused(first);
  EXPECT_FALSE(credentials.at_once());
  const net::Identity second = *credentials.current();
  EXPECT_NE(first.authorization, second.authorization);
  credentials.refused(first);
  ASSERT_TRUE(credentials.at_once());
  EXPECT_EQ(credentials.at_once()->authorization, second.authorization);
}

TEST(ExecPlugin, IsKilledAtTheLimitAlsoInAnotherProcessGroup) {
  const auto got = run_exec_plugin(
      running("exec python3 -c 'import os, signal; os.setpgid(0, os.getpgid(os.getppid())); signal.pause()'"),
      std::chrono::seconds(3));
  EXPECT_NE(got.error().message.find("did not finish within 3000 ms"), std::string::npos);
}

TEST(ExecPlugin, MayWriteNoMoreToItsStandardErrorThanToItsOutput) {
  EXPECT_NE(run("yes >&2").error().message.find("printed more than"), std::string::npos);
  const auto got = run("head -c 500000 /dev/zero >&2; printf '%s' '" + credential(R"({"token":"good"})") + "'");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->token, "good");
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

TEST(ExecPlugin, OnlyRequestsThatNeedTheTokenWaitForIt) {
  const NamedPipe begun("begun"), may_end("may_end");
  const ClientConfig config = running("echo >" + begun.path() + "; read line <" + may_end.path() + "; printf '%s' '" +
                                      credential(R"({"token":"run by '$$'"})") + "'");
  const SystemClock clock{};
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

/// A plugin that leaves a line behind each time it runs.
class CountedPlugin {
 public:
  explicit CountedPlugin(const std::string& then)
      : path_(testing::TempDir() + "berth_runs_" + std::to_string(::getpid())),
        config(running("echo run >>" + path_ + "; " + then)) {
    std::remove(path_.c_str());
  }
  ~CountedPlugin() { std::remove(path_.c_str()); }
  CountedPlugin(const CountedPlugin&) = delete;
  CountedPlugin& operator=(const CountedPlugin&) = delete;
  std::size_t runs() const {
    std::ifstream in(path_);
    std::size_t count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }

 private:
  const std::string path_;

 public:
  const ClientConfig config;
};

TEST(ExecPlugin, OneThatFailsIsRunAgainAfterAWhileThatGrows) {
  const CountedPlugin plugin("exit 3");
  ManualClock clock;
  Credentials credentials(plugin.config, clock);
  const auto ask_often = [&] {
    for (int i = 0; i < 50; ++i)
      EXPECT_NE(credentials.current().error().message.find("exit code 3"), std::string::npos);
    return plugin.runs();
  };
  EXPECT_EQ(ask_often(), 1U) << "each caller is told how it failed";
  std::size_t expected = 1;
  for (const int wait_s : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    clock.advance(std::chrono::seconds(wait_s) - std::chrono::nanoseconds(1));
    EXPECT_EQ(ask_often(), expected) << "before " << wait_s << " s";
    clock.advance(std::chrono::nanoseconds(1));
    EXPECT_EQ(ask_often(), ++expected) << "after " << wait_s << " s";
  }
}

TEST(ExecPlugin, ACredentialThatHasExpiredWhenItComesIsUsedUntilTheNextIsDue) {
  const CountedPlugin plugin("printf '%s' '" +
                             credential(R"({"token":"old","expirationTimestamp":"1970-01-01T00:00:10Z"})") + "'");
  ManualClock clock(60'000'000'000);
  Credentials credentials(plugin.config, clock);
  const auto ask_often = [&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(credentials.current()->authorization, "Bearer old");
    return plugin.runs();
  };
  EXPECT_EQ(ask_often(), 1U);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(ask_often(), 2U);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(ask_often(), 2U);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(ask_often(), 3U);
}

TEST(ExecPlugin, OneWhoseCredentialsAreAllRefusedIsNotRunForEachRefusal) {
  const CountedPlugin plugin("printf '%s' '" + credential(R"({"token":"run by '$$'"})") + "'");
  ManualClock clock;
  Credentials credentials(plugin.config, clock);
  const auto ask_often = [&] {
    for (int i = 0; i < 50; ++i) credentials.refused(*credentials.current());
    return plugin.runs();
  };
  EXPECT_EQ(ask_often(), 2U) << "the first refusal of one that was good is free";
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(ask_often(), 3U);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(ask_often(), 3U);
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(ask_often(), 4U);
}

TEST(ExecPlugin, ACredentialThatExpiresIsRenewedAtOnce) {
  const CountedPlugin plugin("printf '%s' '" +
                             credential(R"({"token":"good","expirationTimestamp":"1970-01-01T01:00:00Z"})") + "'");
  ManualClock clock;
  Credentials credentials(plugin.config, clock);
  EXPECT_TRUE(credentials.current().ok());
  clock.advance(std::chrono::hours(1) - std::chrono::seconds(2));
  EXPECT_TRUE(credentials.current().ok());
  EXPECT_EQ(plugin.runs(), 1U);
  clock.advance(std::chrono::seconds(2));
  EXPECT_FALSE(credentials.at_once());
  EXPECT_TRUE(credentials.current().ok());
  EXPECT_EQ(plugin.runs(), 2U);
}

TEST(ExecPlugin, RunsOnceForRequestsAtTheSameTime) {
  const CountedPlugin plugin("exit 3");
  const SystemClock clock{};
  Credentials credentials(plugin.config, clock);
  std::vector<std::future<bool>> asking;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 15; ++i)
    asking.push_back(std::async(std::launch::async, [&] { return credentials.current().ok(); }));
  for (auto& one : asking) EXPECT_FALSE(one.get());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  EXPECT_LE(plugin.runs(), 1U + static_cast<std::size_t>(seconds.count()));
}

TEST(ExecPlugin, APluginThatHangsIsKilledWithItsChildrenWhenBerthStops) {
  const NamedPipe begun("stop_begun"), never("stop_never");
  // The child of the plugin holds `begun` open as long as it lives.
  const ClientConfig config =
      running("sh -c 'exec 3>" + begun.path() + "; echo >&3; read line <" + never.path() + "' & wait");
  net::StopEvent stop;
  std::future<Result<ExecCredential>> asking =
      std::async(std::launch::async, [&] { return run_exec_plugin(config, std::chrono::minutes(10), &stop); });
  const int lives = ::open(begun.path().c_str(), O_RDONLY);
  ASSERT_GE(lives, 0);
  char byte = 0;
  ASSERT_EQ(::read(lives, &byte, 1), 1);
  stop.set();
  ASSERT_EQ(asking.wait_for(std::chrono::seconds(30)), std::future_status::ready)
      << "the plugin is not waited for once berth stops";
  EXPECT_NE(asking.get().error().message.find("berth is stopping"), std::string::npos);
  pollfd ended{lives, POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 30'000), 1) << "the child of the plugin goes on";
  EXPECT_EQ(::read(lives, &byte, 1), 0);
  ::close(lives);
  EXPECT_NE(run_exec_plugin(config, std::chrono::minutes(10), &stop).error().message.find("was not run"),
            std::string::npos);
}

TEST(ExecPlugin, TooMuchOutputIsAnErrorThatNamesTheLimit) {
  const auto got = run("exec cat /dev/zero");
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().message.find("printed more than 1048576 bytes"), std::string::npos) << got.error().message;
  const auto long_kind = read_exec_credential(R"({"kind":")" + std::string(500'000, 'k') + R"("})", k_version);
  EXPECT_LT(long_kind.error().message.size(), 1024U);
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
