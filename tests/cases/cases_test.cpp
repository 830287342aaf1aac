// SPDX-License-Identifier: Apache-2.0
// Runs every case file below tests/cases as it says, without reuse of verdicts, and with each held against a fresh one; README.md
// describes them. BERTH_UPDATE=1 writes what happened into the files.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cases/case_runner.hpp"
#include "text/parse.hpp"

namespace berth::cases {
namespace {

namespace fs = std::filesystem;
const fs::path k_folder = fs::path(BERTH_SOURCE_DIR) / "tests" / "cases";

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(k_folder))
    if (entry.path().extension() == ".yaml") files.push_back(fs::relative(entry.path(), k_folder).string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string indented(const std::string& body, std::size_t columns) {
  std::string out;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) out += std::string(columns, ' ') + line + '\n';
  return out;
}

/// The lines of a case file, and where an expectation stands in them.
class CaseText {
 public:
  explicit CaseText(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }
  /// Replaces the value of the key `expect` of a mapping, or adds it after the mapping's last line before `end_line`.
  /// Call for the last mapping first: lines move.
  void write(const text::Value& mapping, std::size_t end_line, const StepResult& result) {
    const std::size_t column = mapping.members().front().key_position.column - 1;
    std::size_t begin = end_line, end = end_line;
    for (const text::Member& member : mapping.members())
      if (member.key == "expect") {
        begin = member.key_position.line - 1;
        end = begin + 1;
        while (end < end_line && (blank(end) || indent(end) > column)) ++end;
      }
    while (end > begin + 1 && blank(end - 1)) --end;
    if (begin == end_line)
      while (begin > 0 && blank(begin - 1)) --begin, --end;
    std::string block = std::string(column, ' ') + "expect:";
    block += result.body == "{}" ? " {}\n" : "\n" + indented(result.body, column + 2);
    block.pop_back();
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(begin),
                 lines_.begin() + static_cast<std::ptrdiff_t>(end));
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(begin), block);
  }
  std::size_t line_count() const { return lines_.size(); }
  std::string text() const {
    std::string out;
    for (const std::string& line : lines_) out += line + '\n';
    return out;
  }

 private:
  std::size_t indent(std::size_t line) const {
    return std::min(lines_[line].find_first_not_of(' '), lines_[line].size());
  }
  bool blank(std::size_t line) const {
    return indent(line) == lines_[line].size() || lines_[line][indent(line)] == '#';
  }
  std::vector<std::string> lines_;
};

using Results = std::vector<std::pair<const text::Value*, StepResult>>;

/// What the start and each step came to.
Results play(CaseRunner& runner, const text::Value& root) {
  Results results{{&root, runner.start()}};
  if (const text::Value* steps = root.find("steps"))
    for (const text::Value& step : steps->elements()) results.emplace_back(&step, runner.run(step));
  return results;
}

class CaseFile : public ::testing::TestWithParam<std::string> {};

TEST_P(CaseFile, HappensAsExpected) {
  const fs::path path = k_folder / GetParam();
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(text, GetParam(), problems);
  ASSERT_TRUE(problems.empty() && documents.size() == 1) << problems.render();
  const text::Value& root = documents.front().root();
  text::report_duplicates(documents.front(), root, problems);

  CaseRunner runner(documents.front(), problems);
  ASSERT_TRUE(problems.empty() && runner.ready()) << problems.render();
  const Results results = play(runner, root);
  ASSERT_TRUE(problems.empty()) << problems.render();

  const bool update = std::getenv("BERTH_UPDATE") != nullptr;
  CaseText rewritten(text);
  std::size_t end_line = rewritten.line_count();
  for (std::size_t i = results.size(); i-- > 0;) {
    const auto& [mapping, result] = results[i];
    const text::Value* expected = mapping->find("expect");
    if (i == 0) {
      if (const text::Value* steps = root.find("steps"); steps != nullptr) {
        for (const text::Member& member : root.members())
          if (member.key == "steps") end_line = member.key_position.line - 1;
      }
    }
    if (update)
      rewritten.write(*mapping, end_line, result);
    else if (expected == nullptr || text::to_json(*expected) != result.json())
      ADD_FAILURE_AT(path.c_str(), static_cast<int>(mapping->members().front().key_position.line))
          << (i == 0 ? std::string("at the start") : fmt::format("in step {}", i)) << " it came to\nexpect:\n"
          << indented(result.body, 2) << "BERTH_UPDATE=1 writes this into the file";
    end_line = mapping->members().front().key_position.line - 1;
  }
  if (update && rewritten.text() != text) std::ofstream(path) << rewritten.text();

  // The same without what is kept of classes of pods, and with each of it held against a fresh look.
  for (const auto reuse : {config::VerdictReuse::off, config::VerdictReuse::verify}) {
    SCOPED_TRACE(reuse == config::VerdictReuse::off ? "verdictReuse: off" : "verdictReuse: verify");
    CaseRunner again(documents.front(), problems, reuse);
    ASSERT_TRUE(problems.empty() && again.ready()) << problems.render();
    const Results fresh = play(again, root);
    for (std::size_t i = 0; i < fresh.size(); ++i)
      EXPECT_EQ(fresh[i].second.body, results[i].second.body)
          << (i == 0 ? "at the start" : fmt::format("in step {}", i));
    EXPECT_EQ(again.reuse().violations, 0u);
  }
}

std::string case_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, CaseFile, ::testing::ValuesIn(case_files()), case_name);

TEST(DurationText, ReadsAndWritesTimes) {
  EXPECT_EQ(duration_ns("10s"), 10'000'000'000);
  EXPECT_EQ(duration_ns("100.3s"), 100'300'000'000);
  EXPECT_EQ(duration_ns("500ms"), 500'000'000);
  EXPECT_EQ(duration_ns("5m"), 300'000'000'000);
  EXPECT_EQ(duration_ns("5"), std::nullopt);
  EXPECT_EQ(duration_ns("-1s"), std::nullopt);
  EXPECT_EQ(seconds_text(100'300'000'000), "100.3s");
  EXPECT_EQ(seconds_text(7'000'000'000), "7s");
}

}  // namespace
}  // namespace berth::cases
