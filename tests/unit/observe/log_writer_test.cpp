// SPDX-License-Identifier: Apache-2.0
// What reads the log may stop to read: who logs goes on.
#include "observe/log_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace berth::observe {
namespace {

using namespace std::chrono_literals;

/// Two ends of a channel; reads what is there.
struct Channel {
  explicit Channel(bool is_socket = false) {
    EXPECT_EQ(is_socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) : ::pipe(ends.data()), 0);
    if (!is_socket) ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  }
  ~Channel() {
    close_reader();
    ::close(ends[1]);
  }
  void close_reader() {
    if (ends[0] >= 0) ::close(ends[0]);
    ends[0] = -1;
  }
  std::string read() {
    std::string out;
    for (pollfd asked{ends[0], POLLIN, 0}; ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLIN) != 0;) {
      std::array<char, 65536> piece{};
      const ssize_t got = ::read(ends[0], piece.data(), piece.size());
      if (got <= 0) break;
      out.append(piece.data(), static_cast<std::size_t>(got));
    }
    return out;
  }
  std::array<int, 2> ends{-1, -1};
};

std::string line(int number) { return "line " + std::to_string(number) + std::string(100, '.'); }

/// All that waits, read to its end.
std::string rest_of(LogWriter& writer, Channel& channel) {
  std::string out;
  while (!writer.flush(0ms)) out += channel.read();
  return out + channel.read();
}

class LogWriters : public testing::TestWithParam<bool> {};

TEST_P(LogWriters, WriteWholeLinesInOrder) {
  Channel channel(GetParam());
  LogWriter writer(channel.ends[1], {});
  std::string expected;
  for (int i = 0; i < 10; ++i) {
    writer.write(line(i));
    expected += line(i) + "\n";
  }
  EXPECT_EQ(channel.read(), expected);
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST_P(LogWriters, KeepWhatIsNotReadUntilItIs) {
  Channel channel(GetParam());
  LogWriter writer(channel.ends[1], {.waiting_bytes = 10'000'000, .patience = 1ms});
  std::string expected;
  for (int i = 0; i < 30'000; ++i) {  // beyond what pipe or socket take
    writer.write(line(i));
    expected += line(i) + "\n";
  }
  EXPECT_FALSE(writer.flush(0ms));
  EXPECT_EQ(rest_of(writer, channel), expected);
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST_P(LogWriters, LeaveOutWhatFindsNoRoomAndSaySo) {
  Channel channel(GetParam());
  LogWriter writer(channel.ends[1], {.waiting_bytes = 20'000, .patience = 1ms});
  for (int i = 0; i < 30'000; ++i) writer.write(line(i));
  const std::uint64_t dropped = writer.dropped();
  EXPECT_GT(dropped, 1000U);
  const std::string text = rest_of(writer, channel);
  EXPECT_TRUE(text.starts_with(line(0) + "\n" + line(1) + "\n"));
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(lines + dropped, 30'001U) << "each is written or counted, and one line more says so";
  EXPECT_NE(text.find("were left out: it was not read\" lines=" + std::to_string(dropped)), std::string::npos)
      << text.substr(text.size() - 300);
  writer.write("after");
  EXPECT_EQ(channel.read(), "after\n");
}

TEST_P(LogWriters, WaitOnceForAReaderThatDoesNotGoOn) {
  Channel channel(GetParam());
  LogWriter writer(channel.ends[1], {.waiting_bytes = 10'000'000, .patience = 50ms});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 30'000; ++i) writer.write(line(i));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s) << "30,000 waits would be 25 minutes";
}

TEST_P(LogWriters, GoOnWhenTheReaderIsGone) {
  ::signal(SIGPIPE, SIG_IGN);
  Channel channel(GetParam());
  channel.close_reader();
  LogWriter writer(channel.ends[1], {});
  for (int i = 0; i < 10; ++i) writer.write(line(i));
  EXPECT_EQ(writer.dropped(), 10U);
}

INSTANTIATE_TEST_SUITE_P(Of, LogWriters, testing::Values(false, true),
                         [](const auto& of) { return of.param ? "ASocket" : "APipe"; });

TEST(LogWriterOfAFile, FollowsADescriptorThatBecomesAnotherFile) {
  Channel first, second;
  const int descriptor = ::dup(first.ends[1]);
  LogWriter writer(descriptor, {});
  writer.write("one");
  ASSERT_EQ(::dup2(second.ends[1], descriptor), descriptor);
  writer.write("two");
  EXPECT_EQ(first.read(), "one\n");
  EXPECT_EQ(second.read(), "two\n");
  ::close(descriptor);
}

TEST(LogWriterOfAFile, LeavesTheDescriptorOfOthersBlocking) {
  Channel channel;
  LogWriter writer(channel.ends[1], {});
  writer.write("one");
  EXPECT_EQ(::fcntl(channel.ends[1], F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace berth::observe
