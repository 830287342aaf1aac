// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "app/commands/plugin/plugin_command.hpp"
#include "text/parse.hpp"
#include "zoo/zoo_files.hpp"

namespace berth::zoo {
namespace {

struct Answer {
  int status;
  std::string out;
  std::string err;
};

Answer inspect(app::PluginInspectOptions options) {
  std::stringstream out;
  std::stringstream err;
  const int status = app::inspect_plugins(options, out, err);
  return {status, out.str(), err.str()};
}

TEST(PluginInspect, SaysWhatAFileOffersAndHowToPinIt) {
  const PluginFolder folder;
  folder.add("missing_service");
  const Answer answer = inspect({.files = {(folder.path() / "animal.so").string()}});
  EXPECT_EQ(answer.status, 0);
  for (const char* const line :
       {"/plugins/animal.so\n", "plugin:     zoo.example.com/Animal 1.2.0\n", "  points:   berth.filter/1\n",
        "  services: berth.log/1, berth.weather/1, berth.draft.tides/3\n", "machine:    ", "build id:   ",
        "sha256:     ", "pin:        {file: animal.so, sha256: ", "exports:    1: berth_library_entry_v1\n",
        "verdict:    may be loaded\n"}) {
    EXPECT_NE(answer.out.find(line), std::string::npos) << line << " is missing in\n" << answer.out;
  }
}

TEST(PluginInspect, ComparesServicesWhenToldWhatTheHostHas) {
  const PluginFolder folder;
  folder.add("missing_service");
  const Answer answer = inspect({.files = {(folder.path() / "animal.so").string()}, .host_services = {"berth.log/1"}});
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.out.find("verdict:    refused: P013\n"), std::string::npos) << answer.out;
}

TEST(PluginInspect, NeverRunsTheFile) {
  const PluginFolder folder;
  folder.add("crashing_constructor");
  EXPECT_EQ(inspect({.files = {(folder.path() / "animal.so").string()}}).status, 0);
}

TEST(PluginInspect, GoesOnAfterAFileThatCannotBeRead) {
  const PluginFolder folder;
  folder.add("good");
  folder.write("text", "text.so");
  const Answer answer = inspect(
      {.files = {(folder.path() / "text.so").string(), "/nonexistent.so", (folder.path() / "animal.so").string()}});
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.out.find("verdict:    refused: P006\n"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("verdict:    refused: P001\n"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("verdict:    may be loaded\n"), std::string::npos) << answer.out;
}

TEST(PluginInspect, WritesJsonThatCanBeReadBack) {
  const PluginFolder folder;
  folder.add("good", "\"quoted\\ \n.so");
  folder.add("control_characters", "red.so");
  const Answer answer = inspect(
      {.files = {(folder.path() / "\"quoted\\ \n.so").string(), (folder.path() / "red.so").string()}, .json = true});
  EXPECT_EQ(answer.status, 1);
  text::Diagnostics problems;
  const auto documents = text::parse_json(answer.out, "inspect", problems);
  ASSERT_TRUE(problems.empty()) << problems.render() << answer.out;
  ASSERT_EQ(documents.size(), 1u);
  const auto files = documents[0].root().elements();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].find("file")->text(), (folder.path() / "\"quoted\\ \\x0a.so").string());
  EXPECT_TRUE(files[0].find("loadable")->boolean());
  EXPECT_EQ(files[0].find("sha256")->text().size(), 64u);
  EXPECT_EQ(files[0].find("plugins")->elements()[0].find("points")->elements()[0].text(), "berth.filter/1");
  EXPECT_FALSE(files[1].find("loadable")->boolean());
  EXPECT_EQ(files[1].find("findings")->elements()[0].find("code")->text(), "BERTH-P017");
}

TEST(PluginInspect, WritesTheRoleThatThePluginsAskFor) {
  const PluginFolder folder;
  folder.add("asks_for_rights");
  folder.add("good", "modest.so");
  const Answer answer = inspect(
      {.files = {(folder.path() / "animal.so").string(), (folder.path() / "modest.so").string()}, .rbac = true});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out,
            "apiVersion: rbac.authorization.k8s.io/v1\n"
            "kind: ClusterRole\n"
            "metadata:\n"
            "  name: berth-plugins\n"
            "rules:\n"
            "  # zoo.example.com/Animal 1.2.0\n"
            "  - apiGroups: [\"\"]\n"
            "    resources: [services]\n"
            "    verbs: [get, list, watch]\n"
            "  - apiGroups: [\"apps\"]\n"
            "    resources: [replicasets]\n"
            "    verbs: [get, list, watch]\n"
            "  - apiGroups: [\"\"]\n"
            "    resources: [pods/binding]\n"
            "    verbs: [create]\n");
}

TEST(PluginInspect, RefusesRightsThatAreNoRules) {
  const PluginFolder folder;
  folder.add("asks_for_odd_rights");
  const Answer answer = inspect({.files = {(folder.path() / "animal.so").string()}, .rbac = true});
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.err.find("cannot make a rule of \"everything\""), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("cannot make a rule of \"create core/pods]\\x0a  - verbs: ['*'\""), std::string::npos)
      << answer.err;
}

}  // namespace
}  // namespace berth::zoo
