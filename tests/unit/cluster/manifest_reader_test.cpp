// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/manifest_reader.hpp"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
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

/// A list in JSON as people, programs and accidents write it.
class RandomList {
 public:
  explicit RandomList(unsigned seed) : random_(seed) {}

  std::string text() {
    std::string out = (one_in(8) ? "\xef\xbb\xbf" : "") + list(0) + space();
    if (one_in(2)) return out;
    const std::size_t at = below(out.size());
    switch (below(5)) {
      case 0:
        return out.substr(0, at);
      case 1:
        return out + "{}";
      case 2:
        return out.erase(at, 1);
      case 3:
        return out.insert(at, 1, "{}[],:\"\\x0\x01\xc3 "[below(13)]);
      default:
        return out.insert(at, R"("items":[],)");
    }
  }

 private:
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::string space() { return std::string(below(3), " \n\t\r"[below(4)]); }
  std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (one_in(60))
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      else
        out += c;
    }
    return out + '"';
  }
  std::string object(std::vector<std::string> members) {
    std::shuffle(members.begin(), members.end(), random_);
    if (!members.empty() && one_in(60)) members.push_back(members.front());
    return "{" + joined(members) + "}";
  }
  std::string joined(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : ",") + space() + part + space();
    return out;
  }
  std::string member(std::string_view key, const std::string& value) {
    return quoted(key) + space() + ":" + space() + value;
  }
  std::string text_member(std::string_view key, std::string_view value) { return member(key, quoted(value)); }

  std::string item(bool says_kind, int depth) {
    if (depth < 3 && one_in(8)) return list(depth + 1);
    if (one_in(80)) return std::vector<std::string>{"null", "1", "[]", "{}", "\"x\""}[below(5)];
    static constexpr const char* k_kinds[] = {"Pod", "Pod", "Node", "PriorityClass", "ConfigMap"};
    const std::string kind = says_kind ? k_kinds[below(5)] : "Pod";
    const std::string name = one_in(100) ? "same" : fmt::format("o{}", ++count_);
    std::vector<std::string> members;
    if (says_kind) {
      members.push_back(text_member("apiVersion", kind == "PriorityClass" ? "scheduling.k8s.io/v1" : "v1"));
      members.push_back(text_member("kind", kind));
    }
    members.push_back(member("metadata", object({text_member("name", kind == "PriorityClass" ? "high" : name),
                                                 member("annotations", object({text_member("a", "]}\\\"[{")}))})));
    if (kind == "PriorityClass") members.push_back(member("value", fmt::format("{}", below(1000))));
    if (one_in(100)) members.push_back(member("deep", std::string(95 + below(6), '[') + std::string(98, ']')));
    if (kind == "Pod")
      members.push_back(member(
          "spec", object({member("containers", one_in(60) ? "[]" : "[" + object({text_member("name", "c")}) + "]"),
                          text_member("priorityClassName", one_in(4) ? "high" : "")})));
    return object(members);
  }
  std::string list(int depth) {
    const bool is_typed = one_in(3);
    std::vector<std::string> items;
    for (std::size_t count = below(depth == 0 ? 12 : 4); count > 0; --count) items.push_back(item(!is_typed, depth));
    std::vector<std::string> members{text_member("kind", is_typed ? "PodList" : "List"),
                                     text_member("apiVersion", "v1"),
                                     member("items", "[" + space() + joined(items) + "]")};
    if (one_in(2)) members.push_back(member("metadata", R"({"resourceVersion":"","items":[{}],"n":-1.50e+3})"));
    if (one_in(60)) members.push_back(text_member("kind", "List"));
    return object(members);
  }

  std::mt19937 random_;
  int count_ = 0;
};

/// Everything that can be seen of what was read.
std::string described(const Manifests& manifests) {
  std::string out =
      fmt::format("{} files, {} objects of the last\n", manifests.file_count, manifests.objects_of_last_file);
  for (const decode::Decoded& object : manifests.objects) {
    if (const auto* pod = std::get_if<model::PodPtr>(&object))
      out += fmt::format("pod {} uid {} priority {}\n", (*pod)->key(), (*pod)->uid.text(), (*pod)->priority);
    if (const auto* node = std::get_if<model::NodePtr>(&object)) out += "node " + (*node)->name + "\n";
    if (const auto* other = std::get_if<model::ObjectPtr>(&object)) out += (*other)->json + "\n";
  }
  for (const SkippedKind& kind : manifests.skipped)
    out += fmt::format("skipped {} {} {}\n", kind.api_version, kind.kind, kind.count);
  return out;
}

TEST_F(ManifestReader, ReadsItemByItemWhatItReadsAsAWhole) {
  int sound = 0;
  for (unsigned seed = 1; seed <= 800; ++seed) {
    SCOPED_TRACE(seed);
    RandomList random(seed);
    const std::string text = random.text();
    const std::vector<std::string> paths{file("a.yaml", node("first")), file("list.json", text), "-"};
    const auto read_with = [&](std::size_t whole_bytes_max, std::string& said) {
      ManifestOptions options;
      std::istringstream standard_input(
          R"({"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"last"}}]})");
      options.standard_input = &standard_input;
      options.whole_bytes_max = whole_bytes_max;
      SymbolTable own_symbols;
      text::Diagnostics own_problems;
      std::string out = described(read_manifests(paths, own_symbols, options, own_problems));
      said = own_problems.render();
      return out;
    };
    std::string said, said_of_whole;
    const std::string out = read_with(0, said);
    ASSERT_EQ(out, read_with(std::size_t{1} << 30, said_of_whole)) << text;
    ASSERT_EQ(said, said_of_whole) << text;
    sound += said.empty() ? 1 : 0;
  }
  EXPECT_GT(sound, 100);
  EXPECT_LT(sound, 650);
}

#if !defined(BERTH_SANITIZED)
/// In KiB; nothing: this kernel does not tell, or does not forget the peak before.
std::optional<long> peak_since_reset(bool resets) {
  if (resets && !(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) return std::nullopt;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  return std::nullopt;
}

TEST_F(ManifestReader, DoesNotHoldALongList) {
  constexpr int k_pods = 12000;
  {
    std::ofstream out(path("list.json"));
    out << R"({"items":[)";
    for (int i = 0; i < k_pods; ++i)
      out << (i == 0 ? "" : ",") << R"({"metadata":{"name":"p)" << i
          << R"("},"spec":{"containers":[{"name":"c","args":[")" << std::string(4000, 'x') << R"("]}]}})";
    out << R"(],"kind":"PodList","apiVersion":"v1"})";
  }
  const std::optional<long> before = peak_since_reset(true);
  if (!before) GTEST_SKIP() << "no peak of memory";
  const Manifests manifests = read({path("list.json")});
  EXPECT_EQ(rendered(), "");
  EXPECT_EQ(manifests.objects.size(), std::size_t{k_pods});
  // The file has 49 MB, which are twice that as values; what is kept of the pods is 6 MB.
  EXPECT_LT(peak_since_reset(false).value() - *before, 24 << 10);
}
#endif

}  // namespace
}  // namespace berth::cluster
