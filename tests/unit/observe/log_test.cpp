// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include <gtest/gtest.h>

namespace berth::observe {
namespace {

std::string text_of(Severity severity, std::string_view message, std::vector<LogField> fields = {},
                    bool is_plain = false) {
  std::string out;
  log_as_text({severity, 0, {"/src/core/binding/binder.cpp", 51}, 1763651045123456, message, fields, is_plain}, out);
  return out;
}

/// What stands behind the head of a line.
std::string tail_of(const std::string& line) {
  const std::size_t end = line.find("] ");
  return end == std::string::npos ? line : line.substr(end + 2);
}

std::string value_of(std::string_view value) { return tail_of(text_of(Severity::info, "m", {{"k", value}})).substr(6); }

struct Object {
  std::string ns, name;
};

TEST(TextLog, BeginsAsKlogsLines) {
  const std::string line = text_of(Severity::error, "hello");
  // Lmmdd hh:mm:ss.uuuuuu pid file:line] ; date and hour are those of the time zone.
  EXPECT_EQ(line.front(), 'E');
  EXPECT_EQ(line[5], ' ');
  EXPECT_EQ(line[8], ':');
  EXPECT_EQ(line.substr(11, 10), ":05.123456") << line;
  EXPECT_EQ(line[21], ' ');
  EXPECT_EQ(line.find(" binder.cpp:51] \"hello\""), 29U) << line;
  EXPECT_EQ(text_of(Severity::warning, "x").front(), 'W');
  EXPECT_EQ(text_of(Severity::info, "x").front(), 'I');
}

TEST(TextLog, ShowsFieldsByKeyNumbersBareAndTextsQuoted) {
  const Object pod{"shop", "web-0"};
  EXPECT_EQ(tail_of(text_of(Severity::info, "Bound",
                            {{"pod", pod},
                             {"node", ObjectName{{}, "n0"}},
                             {"count", std::size_t{7}},
                             {"low", -3},
                             {"share", 0.5},
                             {"done", true},
                             {"why", std::string("it is")}})),
            R"("Bound" pod="shop/web-0" node="n0" count=7 low=-3 share=0.5 done=true why="it is")");
}

TEST(TextLog, QuotesAsGoDoes) {
  EXPECT_EQ(value_of(R"(say "no" \ yes)"), R"("say \"no\" \\ yes")");
  EXPECT_EQ(value_of("\a\b\f\r\t\v"), R"("\a\b\f\r\t\v")");
  EXPECT_EQ(value_of(std::string_view("\0\x1b\x7f", 3)), R"("\x00\x1b\x7f")");
  EXPECT_EQ(value_of("naïve → 🂡"), "\"naïve → 🂡\"");
  // Not UTF-8: cut short, alone, overlong, a surrogate, beyond the last letter.
  EXPECT_EQ(value_of("\xC3"), R"("\xc3")");
  EXPECT_EQ(value_of("\x80z"), R"("\x80z")");
  EXPECT_EQ(value_of("\xE0\x80\x80"), R"("\xe0\x80\x80")");
  EXPECT_EQ(value_of("\xED\xA0\x80"), R"("\xed\xa0\x80")");
  EXPECT_EQ(value_of("\xF4\x90\x80\x80"), R"("\xf4\x90\x80\x80")");
  EXPECT_EQ(tail_of(text_of(Severity::info, "two\nlines")), R"("two\nlines")");
}

TEST(TextLog, ShowsValuesOfSeveralLinesAsTheyAre) {
  EXPECT_EQ(value_of("a: 1\n\tb: \"2\"\n"), "<\n\ta: 1\n\t\tb: \"2\"\n >");
  EXPECT_EQ(value_of("a\n\nb"), "<\n\ta\n\t\n\tb\n >");
  EXPECT_EQ(value_of("\n"), "<\n\t\n >");
}

TEST(TextLog, EscapesControlCharactersInValuesOfSeveralLines) {
  EXPECT_EQ(value_of("a\rE1123 forged\n\x1b[2Jb\x7f\0c"), "<\n\ta\\rE1123 forged\n\t\\x1b[2Jb\\x7f\n >");
  EXPECT_EQ(value_of(std::string_view("\n\0\x9b", 3)), "<\n\t\n\t\\x00\\x9b\n >");
  EXPECT_EQ(value_of("a\u202eb"), "\"a\\u202eb\"");  // what follows would be shown from right to left
  // A terminal may take U+009B for ESC [.
  EXPECT_EQ(value_of("\n\xc2\x9b"
                     "31m"),
            "<\n\t\n\t\\u009b31m\n >");
  EXPECT_EQ(value_of("\xc2\x9b\xc2\xa0"), "\"\\u009b\xc2\xa0\"");
}

TEST(TextLog, ShowsPlainLinesAsTheyStand) {
  EXPECT_EQ(tail_of(text_of(Severity::info, "FLAG: --x=\"y\"", {}, true)), "FLAG: --x=\"y\"");
}

TEST(LogSite, NamesFileAndFolder) {
  EXPECT_EQ((LogSite{"/a/core/queue/x.cpp", 1}.file_in_folder()), "queue/x.cpp");
  EXPECT_EQ((LogSite{"queue/x.cpp", 1}.file_in_folder()), "queue/x.cpp");
  EXPECT_EQ((LogSite{"/x.cpp", 1}.file_in_folder()), "/x.cpp");
  EXPECT_EQ((LogSite{"x.cpp", 1}.file_in_folder()), "x.cpp");
  EXPECT_EQ((LogSite{"/a/b/x.cpp", 1}.file_name()), "x.cpp");
}

/// Remembers the lines that are logged, in place of their text.
class Verbosity : public testing::Test {
 protected:
  Verbosity() {
    lines.clear();
    log_as([](const LogLine& line, std::string& out) {
      lines.push_back(std::to_string(line.verbosity) + " " + std::string(line.message) + " " +
                      std::string(line.site.file_name()));
      out = lines.back();
    });
  }
  ~Verbosity() override {
    log_as(&log_as_text);
    log_modules({});
    log_up_to(0);
  }
  static inline std::vector<std::string> lines;
};

TEST_F(Verbosity, DecidesWhatIsLogged) {
  for (int level = 0; level <= 10; ++level) {
    lines.clear();
    log_up_to(level);
    EXPECT_EQ(verbosity(), level);
    for (int of_line = 0; of_line <= 10; ++of_line) V(of_line).info("m");
    EXPECT_EQ(lines.size(), static_cast<std::size_t>(level) + 1);
  }
  lines.clear();
  log_up_to(0);
  info("i");
  warning("w");
  error("e");
  EXPECT_EQ(lines, (std::vector<std::string>{"0 i log_test.cpp", "0 w log_test.cpp", "0 e log_test.cpp"}));
}

TEST_F(Verbosity, OfSomeFilesMayBeHigher) {
  struct Case {
    const char* pattern;
    bool matches;
  };
  for (const Case& c : {Case{"binder", true}, Case{"bind*", true}, Case{"?inder", true}, Case{"[a-c]inder", true},
                        Case{"[^a-c]inder", false}, Case{"Binder", false}, Case{"bind", false},
                        Case{"binder.cpp", false}, Case{"binding/binder", false}, Case{"*", true}}) {
    log_modules({{c.pattern, 4}});
    EXPECT_EQ(static_cast<bool>(V(4, "/src/core/binding/binder.cpp", 1)), c.matches) << c.pattern;
    EXPECT_FALSE(V(5, "/src/core/binding/binder.cpp", 1)) << c.pattern;
    EXPECT_TRUE(V(0, "/src/core/binding/binder.cpp", 1)) << c.pattern;
  }
  // The first that fits decides, and none makes a file say less.
  log_modules({{"binder", 1}, {"*", 6}});
  EXPECT_FALSE(V(2, "binder.cpp", 1));
  EXPECT_TRUE(V(6, "other.cpp", 1));
  log_up_to(3);
  EXPECT_TRUE(V(3, "binder.cpp", 1));
}

}  // namespace
}  // namespace berth::observe
