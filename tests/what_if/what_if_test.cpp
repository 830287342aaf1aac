// SPDX-License-Identifier: Apache-2.0
// Runs every file of tests/what_if/cases; README.md describes them.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/cli/simulate_flags.hpp"
#include "cases/case_objects.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

namespace fs = std::filesystem;
const fs::path k_folder = fs::path(BERTH_SOURCE_DIR) / "tests" / "what_if" / "cases";

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(k_folder)) files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// What of `wanted` is not in `got`, one line each.
void compare(const text::Value& wanted, const text::Value* got, const std::string& path, std::string& out) {
  const std::string found = got == nullptr ? "nothing" : text::to_json(*got);
  if (wanted.is_mapping() && got != nullptr && got->is_mapping()) {
    for (const text::Member& member : wanted.members())
      compare(member.value, got->find(member.key), path + "." + std::string(member.key), out);
  } else if (wanted.is_sequence() && got != nullptr && got->is_sequence() &&
             got->elements().size() == wanted.elements().size()) {
    for (std::size_t i = 0; i < wanted.elements().size(); ++i)
      compare(wanted.elements()[i], &got->elements()[i], fmt::format("{}[{}]", path, i), out);
  } else if (text::to_json(wanted) != found) {
    out += fmt::format("{}: wanted {}, got {}\n", path, text::to_json(wanted), found);
  }
}

/// A short form without the key that is no part of it.
std::string pod_with_controller(const text::Value& pod, const std::string& file, text::Diagnostics& problems) {
  const text::Value* const of = pod.find("of");
  if (of == nullptr) return cases::pod_manifest(pod, file, problems);
  const auto without = text::parse_json(R"({"of":null})", file, problems);
  const auto bare = text::parse_json(text::merge_json(&pod, without.front().root()), file, problems);
  const std::string_view text = of->text();
  text::JsonObject owner;
  owner.text("apiVersion", "apps/v1").text("kind", text.substr(0, text.find('/')));
  owner.text("name", text.substr(text.find('/') + 1)).text("uid", text).json("controller", "true");
  const auto patch =
      text::parse_json(fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", owner.done()), file, problems);
  const auto manifest = text::parse_json(cases::pod_manifest(bare.front().root(), file, problems), file, problems);
  return text::merge_json(&manifest.front().root(), patch.front().root());
}

class WhatIfCase : public ::testing::TestWithParam<std::string> {
 protected:
  WhatIfCase() : folder_(fs::path(::testing::TempDir()) / ("what-if-" + GetParam())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~WhatIfCase() override { fs::remove_all(folder_); }

  void write_cluster(const text::Value& root, const std::string& file, text::Diagnostics& problems) {
    std::vector<std::string> objects;
    const auto each = [&](const char* key, auto&& manifest) {
      if (const text::Value* list = root.find(key))
        for (const text::Value& item : list->elements()) objects.push_back(manifest(item));
    };
    each("nodes", [&](const text::Value& node) { return cases::node_manifest(node, file, problems); });
    each("objects", [&](const text::Value& object) { return text::to_json(object); });
    each("pods", [&](const text::Value& pod) { return pod_with_controller(pod, file, problems); });
    const std::string items = text::list_json(objects, [](std::string& out, const std::string& one) { out += one; });
    std::ofstream(folder_ / "cluster.json") << R"({"apiVersion":"v1","kind":"List","items":)" << items << "}\n";
    if (const text::Value* files = root.find("files"))
      for (const text::Member& each_file : files->members())
        std::ofstream(folder_ / std::string(each_file.key)) << text::to_json(each_file.value);
  }

  struct Answer {
    int exit = 0;
    std::string out, err;
  };
  Answer ask(const text::Value& run, bool for_people) {
    std::vector<std::string> words{"--cluster", (folder_ / "cluster.json").string(), "--plugin-dir",
                                   std::getenv("BERTH_PLUGIN_DIR")};
    if (!for_people) words.insert(words.end(), {"-o", "json"});
    for (const text::Value& argument : run.find("arguments")->elements()) {
      const std::string word(argument.text());
      words.push_back(word.starts_with('@') ? (folder_ / word.substr(1)).string() : word);
    }
    std::reverse(words.begin(), words.end());
    Answer answer;
    SimulateOptions options;
    CLI::App app;
    add_simulate_flags(app, options);
    std::ostringstream out, err;
    try {
      app.parse(words);
      take_changes(app, options);
      answer.exit = run_simulate(options, out, err);
    } catch (const CLI::ParseError& error) {
      err << error.what() << '\n';
      answer.exit = 2;
    }
    answer.out = out.str();
    answer.err = err.str();
    return answer;
  }

  static void check_places(const text::Value& where, const text::Value& output, std::string& wrong) {
    for (const text::Member& member : where.members()) {
      const text::Value* node = nullptr;
      for (const text::Value& pod : output.find("pods")->elements())
        if (std::string(pod.find("namespace")->text()) + "/" + std::string(pod.find("name")->text()) == member.key ||
            pod.find("name")->text() == member.key)
          node = pod.find("node");
      compare(member.value, node, "where." + std::string(member.key), wrong);
    }
  }

  const fs::path folder_;
};
INSTANTIATE_TEST_SUITE_P(Files, WhatIfCase, ::testing::ValuesIn(case_files()), [](const auto& file) {
  std::string name = file.param.substr(0, file.param.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(WhatIfCase, IsAnsweredAsWritten) {
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(read(k_folder / GetParam()), GetParam(), problems);
  ASSERT_EQ(documents.size(), 1u) << problems.render();
  const text::Value& root = documents.front().root();
  write_cluster(root, GetParam(), problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  for (const text::Value& run : root.find("runs")->elements()) {
    const std::string line = text::to_json(*run.find("arguments"));
    const text::Value* const exit = run.find("exit");
    const Answer answer = ask(run, run.find("text") != nullptr);
    EXPECT_EQ(answer.exit, exit == nullptr ? 0 : exit->integer()) << line << '\n' << answer.err;
    if (const text::Value* errors = run.find("errors")) {
      for (const text::Value& part : errors->elements())
        EXPECT_NE(answer.err.find(part.text()), std::string::npos) << line << '\n'
                                                                   << part.text() << "\n---\n"
                                                                   << answer.err;
    }
    if (const text::Value* parts = run.find("text")) {
      for (const text::Value& part : parts->elements())
        EXPECT_NE(answer.out.find(part.text()), std::string::npos) << line << '\n'
                                                                   << part.text() << "\n---\n"
                                                                   << answer.out;
    }
    const text::Value* const output = run.find("output");
    const text::Value* const where = run.find("where");
    if (output == nullptr && where == nullptr) continue;
    const auto got = text::parse_json(answer.out, "output", problems);
    ASSERT_EQ(got.size(), 1u) << line << '\n' << answer.out << answer.err;
    std::string wrong;
    if (output != nullptr) compare(*output, &got.front().root(), "output", wrong);
    if (where != nullptr) check_places(*where, got.front().root(), wrong);
    EXPECT_EQ(wrong, "") << line << '\n' << answer.out;
  }
}

}  // namespace
}  // namespace berth::app
