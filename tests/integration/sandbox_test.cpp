// SPDX-License-Identifier: Apache-2.0
// `berth run` that has confined itself, against the test API server.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "integration/serving_fixture.hpp"
#include "support/sandbox_kernel.hpp"

namespace berth::tests {
namespace {

namespace fs = std::filesystem;

class SandboxRunTest : public ServingTest {
 protected:
  void SetUp() override {
    if (const char* const why = why_no_sandbox()) GTEST_SKIP() << "not looked at: " << why;
  }
  /// "Name: value" of each thread's status, without doubles.
  static std::set<std::string> of_all_threads(const ChildProcess& berth, const std::string& name) {
    std::set<std::string> out;
    for (const fs::directory_entry& task :
         fs::directory_iterator(fs::path("/proc") / std::to_string(berth.id()) / "task")) {
      std::ifstream status(task.path() / "status");
      for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ":")) out.insert(line.substr(line.find_first_not_of("\t ", name.size() + 1)));
    }
    return out;
  }
  static std::size_t threads(const ChildProcess& berth) {
    const fs::directory_iterator tasks(fs::path("/proc") / std::to_string(berth.id()) / "task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  }
  /// A kubeconfig like the usual one, with other credentials of the user.
  std::string kubeconfig_with(json::object user) {
    json::value out = json::parse(server.kubeconfig());
    out.as_object()["users"].as_array()[0].as_object()["user"] = std::move(user);
    return directory.write("other-kubeconfig", json::serialize(out));
  }
  void stop(ChildProcess& berth) {
    berth.signal(SIGTERM);
    EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();
  }
};

TEST_F(SandboxRunTest, SchedulesAndServesAndEveryThreadIsConfined) {
  auto berth = start_serving({"--cert-dir=" + directory.path() + "/made"});
  EXPECT_GT(threads(*berth), 10u);
  EXPECT_EQ(of_all_threads(*berth, "NoNewPrivs"), std::set<std::string>{"1"});
  EXPECT_EQ(of_all_threads(*berth, "Seccomp"), std::set<std::string>{"2"});
  EXPECT_NE(berth->log().find("berth has confined itself"), std::string::npos) << berth->log();
  // Made before it gave up writing.
  EXPECT_TRUE(fs::exists(directory.path() + "/made/kube-scheduler.key"));
  const std::string page = metrics();
  for (const char* metric : {"process_open_fds", "process_resident_memory_bytes", "process_start_time_seconds"})
    EXPECT_NE(page.find(metric), std::string::npos) << metric;
  berth->signal(SIGUSR2);
  EXPECT_TRUE(wait([&] { return berth->log().find("cache: {") != std::string::npos; })) << berth->log();
  EXPECT_EQ(of_all_threads(*berth, "Seccomp"), std::set<std::string>{"2"});
  stop(*berth);
}

TEST_F(SandboxRunTest, WhenItIsAskedForItStartsOnlyWithAllOfIt) {
  server.create(node_json(1, 4));
  server.create(pod_json("a", "100m"));
  auto berth = start({"--leader-elect=false", "--sandbox=enforce"});
  ASSERT_TRUE(wait([&] { return bound() == 1 || berth->log().find("cannot be had") != std::string::npos; }));
  if (bound() == 0) GTEST_SKIP() << "not looked at: " << berth->log();
  EXPECT_EQ(of_all_threads(*berth, "Seccomp"), std::set<std::string>{"2"});
  stop(*berth);
}

TEST_F(SandboxRunTest, OffConfinesNothing) {
  server.create(node_json(1, 4));
  server.create(pod_json("a", "100m"));
  auto berth = start({"--leader-elect=false", "--sandbox=off"});
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  EXPECT_EQ(of_all_threads(*berth, "NoNewPrivs"), of_all_threads(*berth, "Seccomp")) << "what this test has";
  EXPECT_EQ(berth->log().find("confine"), std::string::npos) << berth->log();
  stop(*berth);
}

TEST_F(SandboxRunTest, WhatDoesNotExistCannotBeOpenedToPlugins) {
  auto berth = start({"--sandbox-read=" + directory.path() + "/absent"});
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(berth->log().find("--sandbox-read: " + directory.path() + "/absent does not exist"), std::string::npos)
      << berth->log();
}

TEST_F(SandboxRunTest, ATokenIsReadAgainWhereKubeletPutsIt) {
  const auto at = [&](const char* name) { return directory.path() + "/mount/" + name; };
  for (const char* version : {"..v1", "..v2"}) fs::create_directories(at(version));
  std::ofstream(at("..v1/token")) << "worn out";
  std::ofstream(at("..v2/token")) << "test-token";
  fs::create_symlink("..v1", at("..data"));
  fs::create_symlink("..data/token", at("token"));
  kubeconfig = kubeconfig_with({{"tokenFile", at("token")}});
  server.create(node_json(1, 4));
  server.create(pod_json("a", "100m"));
  auto berth = start({"--leader-elect=false"});
  ASSERT_TRUE(wait([&] { return berth->log().find("Unauthorized") != std::string::npos; })) << berth->log();
  fs::create_symlink("..v2", at("..data_tmp"));
  fs::rename(at("..data_tmp"), at("..data"));
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  stop(*berth);
}

TEST_F(SandboxRunTest, AnExecPluginRunsAgainAndWritesWhereItMay) {
  const std::string runs = directory.path() + "/runs", elsewhere = directory.path() + "/elsewhere";
  fs::create_directories(runs);
  // The first token is refused.
  const std::string plugin = directory.write("plugin.sh", R"(#!/bin/sh
token=worn-out
[ -e $RUNS/first ] && token=test-token
echo first > $RUNS/first
(echo first > $ELSEWHERE) 2> /dev/null
echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "'$token'"}}'
)");
  fs::permissions(plugin, fs::perms::owner_all);
  const auto variable = [](const char* name, const std::string& value) {
    return json::object({{"name", name}, {"value", value}});
  };
  kubeconfig = kubeconfig_with(
      {{"exec", json::object({{"apiVersion", "client.authentication.k8s.io/v1"},
                              {"command", plugin},
                              {"interactiveMode", "Never"},
                              {"env", json::array({variable("RUNS", runs), variable("ELSEWHERE", elsewhere)})}})}});
  server.create(node_json(1, 4));
  server.create(pod_json("a", "100m"));
  auto berth = start({"--leader-elect=false", "--sandbox-write=" + runs});
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  EXPECT_EQ(of_all_threads(*berth, "Seccomp"), std::set<std::string>{"2"});
  if (berth->log().find("berth has confined itself") != std::string::npos) {
    EXPECT_FALSE(fs::exists(elsewhere));
  }
  stop(*berth);
}

TEST_F(SandboxRunTest, TheReportOfAFatalSignalIsWritten) {
  server.create(node_json(1, 4));
  server.create(pod_json("a", "100m"));
  auto berth = start({"--leader-elect=false"});
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  berth->signal(SIGSEGV);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 128 + SIGSEGV);
  EXPECT_NE(berth->log().find("berth: SIGSEGV"), std::string::npos) << berth->log();
}

}  // namespace
}  // namespace berth::tests
