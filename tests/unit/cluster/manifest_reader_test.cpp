// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/manifest_reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::cluster {
namespace {

namespace fs = std::filesystem;

/// A directory of files that is gone afterwards.
class ManifestReader : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("berth_manifests_") + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string file(const std::string& name, std::string_view text) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  std::string path(const std::string& name = "") const { return (root_ / name).string(); }

  Manifests read(const std::vector<std::string>& paths) {
    ManifestOptions options;
    options.standard_input = &input;
    return read_manifests(paths, symbols, options, problems);
  }
  static std::string names(const Manifests& manifests) {
    std::string out;
    for (const decode::Decoded& object : manifests.objects)
      out += (out.empty() ? "" : " ") + std::visit([](const auto& pointer) { return pointer->name; }, object);
    return out;
  }
  /// Problems with this test's directory cut from the paths.
  std::string rendered() const {
    std::string text = problems.render();
    const std::string prefix = root_.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

  SymbolTable symbols;
  text::Diagnostics problems;
  std::istringstream input;

 private:
  fs::path root_;
};

std::string pod(std::string_view name, std::string_view more = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + std::string(name) + "}, spec: {containers: [{name: c}]" +
         std::string(more) + "}}\n";
}
std::string node(std::string_view name) {
  return "{apiVersion: v1, kind: Node, metadata: {name: " + std::string(name) + "}}\n";
}

TEST_F(ManifestReader, ReadsDocumentsListsAndTypedListsInOrder) {
  const std::string yaml = file("a.yaml", node("n2") + "---\n---\n" + node("n1") + "---\n" + pod("p"));
  const std::string json = file(
      "b.json", R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n3"}},
    {"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"q"},"spec":{"containers":[{"name":"c"}]}}]},
    {"apiVersion":"v1","kind":"List","items":null}]})");
  const std::string typed =
      file("c.json", R"({"apiVersion":"apps/v1","kind":"ReplicaSetList","items":[{"metadata":{"name":"r"}}]})");
  const Manifests manifests = read({yaml, json, typed});
  EXPECT_EQ(rendered(), "");
  EXPECT_EQ(names(manifests), "n2 n1 p n3 q r");
  EXPECT_EQ(std::get<model::ObjectPtr>(manifests.objects[5])->resource, "apps/v1/replicasets");
  EXPECT_EQ(manifests.file_count, 3u);
}

TEST_F(ManifestReader, WalksDirectoriesInNameOrder) {
  file("b.yaml", node("n-b"));
  file("a/z.yml", node("n-z"));
  file("a/a.json", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n-a"}})");
  file("c.txt", "not a manifest");
  file(".hidden.yaml", "not: [read");
  file("..data/b.yaml", node("n-b"));
  EXPECT_EQ(names(read({path()})), "n-a n-z n-b");
  EXPECT_EQ(rendered(), "");
}

TEST_F(ManifestReader, ReadsStandardInput) {
  input.str(R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}]})");
  EXPECT_EQ(names(read({"-"})), "n");
  input.clear();
  input.str("{");
  read({"-"});
  EXPECT_EQ(rendered(), "-:1:2: malformed JSON: ends where a key in double quotes should stand\n");
}

TEST_F(ManifestReader, WarnsOncePerKindThatItSkips) {
  const std::string one = file("a.yaml",
                               "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n---\n{apiVersion: v1, "
                               "kind: ConfigMap, metadata: {name: b}}\n"
                               "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}}\n");
  const Manifests manifests = read({one});
  EXPECT_EQ(rendered(), "");
  EXPECT_TRUE(manifests.objects.empty());
  ASSERT_EQ(manifests.skipped.size(), 2u);
  EXPECT_EQ(manifests.skipped[0].api_version + " " + manifests.skipped[0].kind, "apps/v1 Deployment");
  EXPECT_EQ(manifests.skipped[0].count, 2u);
  EXPECT_EQ(manifests.skipped[1].kind, "ConfigMap");
}

TEST_F(ManifestReader, NamesBothPlacesOfWhatStandsTwice) {
  const std::string a = file("a.yaml", node("n") + "---\n" + pod("p"));
  const std::string b = file("b.yaml", pod("p") + "---\n" + pod("p", ", nodeName: n") + "---\n" + node("n"));
  const Manifests manifests = read({a, b});
  EXPECT_EQ(rendered(),
            "b.yaml:1:46: metadata.name: a second pod \"default/p\"; the first is at a.yaml:3:46\n"
            "b.yaml:3:46: metadata.name: a second pod \"default/p\"; the first is at a.yaml:3:46\n"
            "b.yaml:5:47: metadata.name: a second node \"n\"; the first is at a.yaml:1:47\n");
  EXPECT_EQ(names(manifests), "n p");
}

TEST_F(ManifestReader, ReportsEveryProblemOfEveryFile) {
  const std::string a = file("a.yaml", "a: [1\n");
  const std::string b =
      file("b.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}\n---\njust text\n---\n" +
                         node("good"));
  const std::string c = file("c.yaml", "apiVersion: v1\nkind: Node\nkind: Pod\nmetadata: {name: x}\n");
  fs::create_directories(path("empty"));
  const Manifests manifests = read({path("gone.yaml"), a, b, c, path("empty")});
  EXPECT_EQ(rendered(),
            "gone.yaml: cannot be read: No such file or directory\n"
            "empty: holds no manifest (*.yaml, *.yml or *.json)\n"
            "a.yaml:2:1: malformed YAML: end of sequence flow not found\n"
            "c.yaml:3:1: kind: key \"kind\" stands here a second time (the first is at 2:1)\n"
            "b.yaml:1:69: spec.containers: a pod needs at least one container\n"
            "b.yaml:3:1: must be a Kubernetes object (a mapping with apiVersion, kind and metadata)\n"
            "c.yaml:1:1: spec.containers: a pod needs at least one container\n");
  EXPECT_EQ(names(manifests), "good");
}

TEST_F(ManifestReader, KnowsPriorityClassesThatStandLater) {
  const std::string a = file(
      "a.yaml", pod("p", ", priorityClassName: high") +
                    "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}\n");
  const Manifests manifests = read({a});
  EXPECT_EQ(rendered(), "");
  EXPECT_EQ(std::get<model::PodPtr>(manifests.objects.at(0))->priority, 7);
}

TEST_F(ManifestReader, TakesObjectsAsTheyAreWithoutDefaulting) {
  ManifestOptions options;
  options.defaulting = false;
  const Manifests manifests = read_manifests({file("a.yaml", pod("p"))}, symbols, options, problems);
  EXPECT_EQ(std::get<model::PodPtr>(manifests.objects.at(0))->uid, "");
  EXPECT_TRUE(std::get<model::PodPtr>(manifests.objects.at(0))->spec->tolerations.empty());
}

TEST_F(ManifestReader, RefusesDirectoriesAsFilesWithoutCrashing) {
  fs::create_directories(path("dir.yaml"));
  file("dir.yaml/inner.yaml", node("n"));
  EXPECT_EQ(names(read({path()})), "n");
  EXPECT_EQ(rendered(), "");
}

}  // namespace
}  // namespace berth::cluster
