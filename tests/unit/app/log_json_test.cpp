// SPDX-License-Identifier: Apache-2.0
#include "app/live/log_json.hpp"

#include <gtest/gtest.h>

#include "app/cli/log_flags.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

std::string json_of(observe::Severity severity, int verbosity, std::string_view message,
                    std::vector<observe::LogField> fields = {}) {
  std::string out;
  app::log_as_json({severity, verbosity, {"core/binding/binder.cpp", 51}, 1763651045123456, message, fields}, out);
  return out;
}

TEST(JsonLog, HasTimeCallerMessageVerbosityAndFieldsInThisOrder) {
  const std::string ns = "shop", name = "web-0";
  EXPECT_EQ(json_of(observe::Severity::info, 2, "Successfully bound pod to node",
                    {{"pod", observe::ObjectName{ns, name}},
                     {"node", observe::ObjectName{{}, "n0"}},
                     {"evaluatedNodes", 5U},
                     {"share", 0.5},
                     {"flushed", false}}),
            R"({"ts":1763651045123.456,"caller":"binding/binder.cpp:51","level":"info",)"
            R"("msg":"Successfully bound pod to node","v":2,"pod":{"name":"web-0","namespace":"shop"},)"
            R"("node":{"name":"n0"},"evaluatedNodes":5,"share":0.5,"flushed":false})");
}

TEST(JsonLog, ErrorsHaveNoVerbosity) {
  EXPECT_EQ(json_of(observe::Severity::error, 0, "Error updating pod", {{"err", "no"}}),
            R"({"ts":1763651045123.456,"caller":"binding/binder.cpp:51","level":"error",)"
            R"("msg":"Error updating pod","err":"no"})");
  EXPECT_NE(json_of(observe::Severity::warning, 0, "x").find(R"("level":"warning","msg":"x","v":0})"),
            std::string::npos);
}

TEST(JsonLog, IsOneValidObjectALineWhateverTheTextsHold) {
  struct Case {
    std::string text, read;
  };
  const std::string with_nul("a\0b", 3);
  for (const Case& c : {Case{"plain", "plain"}, Case{R"(say "no" \ yes)", R"(say "no" \ yes)"},
                        Case{"two\nlines\r\tand a tab", "two\nlines\r\tand a tab"}, Case{"\x01\x1f", "\x01\x1f"},
                        Case{"cut \xC3", "cut \xEF\xBF\xBD"}, Case{"\xff\xfe ok", "\xEF\xBF\xBD\xEF\xBF\xBD ok"},
                        Case{"naïve → ⎈", "naïve → ⎈"}, Case{with_nul, with_nul}, Case{"", ""}}) {
    const std::string out = json_of(observe::Severity::warning, 0, c.text, {{"text", c.text}});
    EXPECT_EQ(out.find('\n'), std::string::npos) << out;
    text::Diagnostics problems;
    const auto documents = text::parse_json(out, "log", problems);
    ASSERT_FALSE(documents.empty()) << out << problems.render();
    for (const char* key : {"msg", "text"})
      EXPECT_EQ(std::string(documents.front().root().find(key)->text()), c.read) << out;
  }
}

TEST(LogFlags, NameFilesAndTheirVerbosity) {
  const auto read = read_log_modules("binder=4,,http_*=6,quiet=0,");
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].pattern, "binder");
  EXPECT_EQ((*read)[0].verbosity, 4);
  EXPECT_EQ((*read)[1].pattern, "http_*");
  EXPECT_EQ((*read)[1].verbosity, 6);
}

TEST(LogFlags, RefuseWhatIsNoPatternWithANumber) {
  for (const char* text : {"binder", "=4", "binder=", "binder=x", "binder=-1", "binder=4x", "a=1,b"}) {
    const auto read = read_log_modules(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find("is not of the form PATTERN=N"), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace berth::app
