// SPDX-License-Identifier: Apache-2.0
#include "app/log_format.hpp"

#include <gtest/gtest.h>
#include <spdlog/formatter.h>
#include <spdlog/spdlog.h>

#include "text/parse.hpp"

namespace berth::app {
namespace {

std::string line(spdlog::formatter& format, std::string_view text, spdlog::level::level_enum level) {
  const spdlog::details::log_msg message(spdlog::source_loc{}, "berth", level,
                                         spdlog::string_view_t(text.data(), text.size()));
  spdlog::memory_buf_t out;
  format.format(message, out);
  return {out.data(), out.size()};
}

TEST(JsonLog, IsOneValidObjectALineWhateverTheTextHolds) {
  const auto format = make_json_format();
  struct Case {
    std::string text, read;
  };
  const std::string with_nul("a\0b", 3);
  for (const Case& c : {Case{"plain", "plain"}, Case{R"(say "no" \ yes)", R"(say "no" \ yes)"},
                        Case{"two\nlines\r\tand a tab", "two\nlines\r\tand a tab"}, Case{"\x01\x1f", "\x01\x1f"},
                        Case{"cut \xC3", "cut \xEF\xBF\xBD"}, Case{"\xff\xfe ok", "\xEF\xBF\xBD\xEF\xBF\xBD ok"},
                        Case{"naïve → ⎈", "naïve → ⎈"}, Case{with_nul, with_nul}, Case{"", ""}}) {
    const std::string out = line(*format, c.text, spdlog::level::warn);
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(out.find('\n'), out.size() - 1) << out;
    text::Problems problems;
    const auto documents = text::parse_json(out, "log", problems);
    ASSERT_FALSE(documents.empty()) << out << problems.render();
    EXPECT_EQ(std::string(documents.front().root().find("msg")->text()), c.read) << out;
    EXPECT_EQ(documents.front().root().find("level")->text(), "warning");
    EXPECT_NE(documents.front().root().find("ts"), nullptr);
  }
}

TEST(TextLog, BeginsAsKlogsLines) {
  const auto format = make_text_format();
  const std::string out = line(*format, "hello", spdlog::level::err);
  EXPECT_EQ(out.front(), 'E');
  EXPECT_TRUE(out.ends_with(" berth] hello\n")) << out;
  // Lmmdd hh:mm:ss.uuuuuu
  EXPECT_EQ(out[5], ' ');
  EXPECT_EQ(out[8], ':');
  EXPECT_EQ(out[14], '.');
  EXPECT_EQ(line(*format, "x", spdlog::level::debug).front(), 'I');
}

TEST(Verbosity, DecidesWhatIsLogged) {
  log_up_to(0);
  EXPECT_FALSE(spdlog::should_log(spdlog::level::debug));
  log_up_to(2);
  EXPECT_TRUE(spdlog::should_log(spdlog::level::debug));
  EXPECT_FALSE(spdlog::should_log(spdlog::level::trace));
  log_up_to(4);
  EXPECT_TRUE(spdlog::should_log(spdlog::level::trace));
  EXPECT_EQ(verbosity(), 4);
  log_up_to(0);
}

}  // namespace
}  // namespace berth::app
