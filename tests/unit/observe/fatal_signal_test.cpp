// SPDX-License-Identifier: Apache-2.0
// Each test dies in a process of its own; what it prints is the subject. Crashes inside of loaded plugins: tests/zoo.
#include "observe/fatal_signal.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "observe/breadcrumb.hpp"

namespace berth::observe {
namespace {

const CrumbOwner k_linked_in{"example.com/Rack\nSpread", "1.2.0", nullptr, nullptr};

void die_in_a_plugin(const std::string& record_file) {
  install_fatal_signal_report({record_file});
  enter_pod("batch", "job-7");
  enter_block(4096, 5120);
  enter_plugin(k_linked_in, Point::score);
  std::abort();
}

TEST(FatalSignalDeathTest, NamesPluginPointPodAndNodes) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      die_in_a_plugin(""), testing::KilledBySignal(SIGABRT),
      "berth: SIGABRT in plugin example.com/Rack.Spread 1.2.0 .*libc.* score, pod batch/job-7, nodes 4096..5119");
}

TEST(FatalSignalDeathTest, AppendsToTheRecordFileWhenThereIsOne) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  // The process that dies starts the test again; the environment tells it of the same file.
  const auto own = std::filesystem::temp_directory_path() / ("berth-record-" + std::to_string(::getpid()));
  ::setenv("BERTH_TEST_RECORD_FILE", own.c_str(), 0);
  const std::string path = std::getenv("BERTH_TEST_RECORD_FILE");
  std::ofstream(path) << "before\n";
  EXPECT_EXIT(die_in_a_plugin(path), testing::KilledBySignal(SIGABRT), "");
  std::ifstream file(path);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(content.rfind("before\nberth: SIGABRT in plugin", 0), 0u) << content;
  std::filesystem::remove(path);
}

TEST(FatalSignalDeathTest, SaysWhenNoPluginWasRunning) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        install_fatal_signal_report({""});
        ::raise(SIGFPE);
      },
      testing::KilledBySignal(SIGFPE), "berth: SIGFPE in libc[^ ]* .*outside of plugin calls");
}

TEST(FatalSignalDeathTest, ReportsOtherThreadsByTheirOwnBreadcrumb) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        install_fatal_signal_report({""});
        enter_pod("main", "thread");
        std::thread([] {
          const SignalStack stack;
          enter_pod("worker", "thread");
          enter_plugin(k_linked_in, Point::filter);
          std::abort();
        }).join();
      },
      testing::KilledBySignal(SIGABRT), "filter, pod worker/thread");
}

TEST(FatalSignalDeathTest, IsPutBackAfterItWasReplaced) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        install_fatal_signal_report({""});
        std::fprintf(stderr, "first: '%s'\n", restore_fatal_signal_report().c_str());
        ::signal(SIGFPE, SIG_IGN);
        ::signal(SIGSEGV, SIG_DFL);
        std::fprintf(stderr, "then: '%s'\n", restore_fatal_signal_report().c_str());
        ::raise(SIGFPE);
      },
      testing::KilledBySignal(SIGFPE), "first: ''\nthen: 'SIGSEGV, SIGFPE'\nberth: SIGFPE in libc");
}

TEST(FatalSignalDeathTest, IsPutBackByThreadsOnStacksOfTheirOwn) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto stack_of_this_thread = [] {
    stack_t stack{};
    ::sigaltstack(nullptr, &stack);
    return stack.ss_sp;
  };
  EXPECT_EXIT(
      {
        install_fatal_signal_report({""});
        bool is_its_own = true;
        std::thread([&] {
          void* const before = stack_of_this_thread();
          restore_fatal_signal_report();
          is_its_own = is_its_own && stack_of_this_thread() == before;
          const SignalStack own;
          void* const with_its_own = stack_of_this_thread();
          restore_fatal_signal_report();
          is_its_own = is_its_own && stack_of_this_thread() == with_its_own;
        }).join();
        std::fprintf(stderr, "threads keep their stacks: %s\n", is_its_own ? "yes" : "no");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "threads keep their stacks: yes");
}

}  // namespace
}  // namespace berth::observe
