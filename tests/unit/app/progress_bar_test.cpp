// SPDX-License-Identifier: Apache-2.0
#include "report/progress_bar.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace berth::app {
namespace {

using namespace std::chrono_literals;

TEST(ProgressBar, SaysNothingInTheFirstSecond) {
  std::ostringstream out;
  ManualClock clock;
  {
    report::ProgressBar bar(out, clock, true, "deciding");
    clock.advance(999ms);
    bar.update(500, 1000);
  }
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressBar, SaysNothingWithoutATerminal) {
  std::ostringstream out;
  ManualClock clock;
  report::ProgressBar bar(out, clock, false, "deciding");
  clock.advance(5s);
  bar.update(500, 1000);
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressBar, DrawsOverItselfAtMostTenTimesASecondAndErasesItself) {
  std::ostringstream out;
  ManualClock clock;
  {
    report::ProgressBar bar(out, clock, true, "deciding");
    clock.advance(2s);
    bar.update(500, 1000);
    EXPECT_EQ(out.str(), "\rdeciding ███████████████░░░░░░░░░░░░░░░  50% 500/1000, 250/s\033[K");
    clock.advance(99ms);
    bar.update(600, 1000);
    EXPECT_EQ(out.str().find("600"), std::string::npos);
    clock.advance(1ms);
    bar.update(700, 1000);
    EXPECT_NE(out.str().find("700/1000"), std::string::npos);
  }
  const std::string text = out.str();
  EXPECT_EQ(text.substr(text.size() - 4), "\r\033[K");
}

TEST(ProgressBar, CountsWhenTheWholeIsUnknown) {
  std::ostringstream out;
  ManualClock clock;
  report::ProgressBar bar(out, clock, true, "reading");
  clock.advance(2s);
  bar.update(500, 0);
  EXPECT_EQ(out.str(), "\rreading 500, 250/s\033[K");
}

}  // namespace
}  // namespace berth::app
